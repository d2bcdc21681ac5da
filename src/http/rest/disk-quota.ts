import type { Catalog } from '../../catalog/catalog.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { LayerQuota, QuotaConfiguration } from '../../quota/quota-configuration.ts';
import { type Answer, textAnswer } from '../answer.ts';
import { BODY_TYPES, requireMediaType } from '../door/request-body.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import { type Handler, METHODS, type Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { readQuotaDocument, UnknownUnit, writeQuotaDocument } from '../wire/quota-document.ts';

/** Section 4.5 of the specification; below `/rest` too, where no extension means XML. */
export function diskQuotaRoutes(deps: RouteDeps): readonly Route[] {
  const read = (format: DocumentFormat) => async () =>
    configurationAnswer(await deps.quota.settings.read(), format);
  const pathsOf = (path: string, format: DocumentFormat): Route[] => [
    { method: 'GET', path, role: 'viewer', handler: read(format) },
    { method: 'PUT', path, role: 'admin', handler: createChangeHandler(deps, format) },
  ];
  return [
    ...pathsOf('/diskquota.xml', 'xml'),
    ...pathsOf('/diskquota.json', 'json'),
    ...pathsOf('/rest/diskquota.xml', 'xml'),
    ...pathsOf('/rest/diskquota.json', 'json'),
    ...pathsOf('/rest/diskquota', 'xml'),
    ...['/diskquota.{format}', '/rest/diskquota.{format}'].flatMap((path) =>
      METHODS.map((method): Route => ({ method, path, role: 'viewer', handler: refuseFormat })),
    ),
  ];
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

function createChangeHandler({ catalog, quota }: RouteDeps, format: DocumentFormat): Handler {
  return (exchange) =>
    explainingUnits(async () => {
      requireMediaType(exchange.headers, BODY_TYPES[format]);
      const change = readQuotaDocument(exchange.body, format);
      checkLayerQuotas(catalog, change.layerQuotas);
      let before: QuotaConfiguration | null = null;
      const after = await quota.settings.change(change, (current) => {
        before = current;
      });
      exchange.change = { target: 'quota', before, after };
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

const refuseFormat: Handler = () => {
  throw new HttpProblem('path-unknown', 'The disk quota comes as xml or json.');
};
