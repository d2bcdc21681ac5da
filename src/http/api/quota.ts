import { createHash } from 'node:crypto';
import {
  cleanUpPeriod,
  type Quota,
  type QuotaConfiguration,
  quotaBytes,
} from '../../quota/quota-configuration.ts';
import { isSameVersion } from '../answer/negotiate.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { HttpProblem } from '../problems.ts';
import { checkLayerQuotas } from '../rest/disk-quota.ts';
import type { Handler, Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { quotaBody, quotaChangeOf } from '../wire/quota-body.ts';
import { readBody } from '../wire/read-body.ts';

/** `/api/v1/quota`: the configuration of `/diskquota`, with numbers as numbers and without a root. */
export function quotaRoutes(deps: RouteDeps): readonly Route[] {
  const path = '/api/v1/quota';
  const show: Handler = async () => quotaAnswer(await deps.quota.settings.read());
  return [
    { method: 'GET', path, role: 'viewer', handler: show },
    { method: 'PUT', path, role: 'admin', handler: createChange(deps) },
  ];
}

export function quotaDocument(configuration: QuotaConfiguration) {
  const { globalQuota, layerQuotas, ...plain } = configuration;
  return {
    ...plain,
    cleanUpSeconds: cleanUpPeriod(configuration) / 1000,
    globalQuota: withBytes(globalQuota),
    layerQuotas: layerQuotas.map((entry) => ({ ...entry, quota: withBytes(entry.quota) })),
  };
}

function createChange({ catalog, quota }: RouteDeps): Handler {
  return async (exchange) => {
    const change = quotaChangeOf(readBody(exchange, quotaBody));
    checkLayerQuotas(catalog, change.layerQuotas);
    const wanted = exchange.headers['if-match'];
    let before: QuotaConfiguration | null = null;
    const after = await quota.settings.change(change, (current) => {
      before = current;
      if (isSameVersion(wanted, etagOf(current))) return;
      throw new HttpProblem(
        'precondition-failed',
        'The quota was changed meanwhile, and nothing of this change is applied; read /api/v1/quota again.',
      );
    });
    exchange.change = { target: 'quota', before, after };
    return quotaAnswer(after);
  };
}

function quotaAnswer(configuration: QuotaConfiguration): Answer {
  return jsonAnswer(quotaDocument(configuration), ['ETag', etagOf(configuration)]);
}

function etagOf(configuration: QuotaConfiguration): string {
  const digest = createHash('sha256').update(JSON.stringify(quotaDocument(configuration)));
  return `"${digest.digest('base64url').slice(0, 22)}"`;
}

function withBytes(quota: Quota) {
  return { ...quota, bytes: quotaBytes(quota) };
}
