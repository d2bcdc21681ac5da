import type { Catalog } from '../../catalog/catalog.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { LayerQuota, QuotaConfiguration } from '../../quota/quota-configuration.ts';
import { type Answer, textAnswer } from '../answer.ts';
import type { ApiDeps, Call } from '../api-route.ts';
import { BODY_TYPES, requireMediaType } from '../door/request-body.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import { readQuotaDocument, UnknownUnit, writeQuotaDocument } from '../wire/quota-document.ts';

/** Section 4.5 of the specification. */
export function quotaAs(format: DocumentFormat) {
  return async (_: Call, { quota }: ApiDeps) => configurationAnswer(await quota.settings.read(), format);
}

/** Throws for a layer that is not declared or named twice. */
export function checkLayerQuotas(catalog: Pick<Catalog, 'layer'>, quotas: readonly LayerQuota[] = []): void {
  const seen = new Set<string>();
  for (const { layer } of quotas) {
    if (!catalog.layer(layer)) throw invalid(`layerQuotas: unknown layer ${shortened(layer)}.`);
    if (seen.has(layer)) throw invalid(`layerQuotas: layer ${shortened(layer)} is listed twice.`);
    seen.add(layer);
  }
}

/** An answer for what a body has wrong that takes more than a line to say. */
async function explainingUnits(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnknownUnit)) throw error;
    return textAnswer(statusOf('request-invalid'), error.report, ['Cache-Control', 'no-store']);
  }
}

export function changeQuotaBy(format: DocumentFormat) {
  return ({ exchange, note }: Call, { catalog, quota }: ApiDeps) =>
    explainingUnits(async () => {
      requireMediaType(exchange.headers, BODY_TYPES[format]);
      const change = readQuotaDocument(exchange.body, format);
      checkLayerQuotas(catalog, change.layerQuotas);
      let before: QuotaConfiguration | null = null;
      const after = await quota.settings.change(change, (current) => {
        before = current;
      });
      note({ target: 'quota', before, after });
      return configurationAnswer(after, format);
    });
}

function configurationAnswer(configuration: QuotaConfiguration, format: DocumentFormat): Answer {
  return {
    status: 200,
    headers: ['Content-Type', format === 'xml' ? 'application/xml' : 'application/json'],
    body: writeQuotaDocument(configuration, format),
  };
}

export function refuseFormat(): never {
  throw new HttpProblem('path-unknown', 'The disk quota comes as xml or json.');
}
