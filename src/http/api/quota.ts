import type { Catalog } from '../../catalog/catalog.ts';
import {
  cleanUpPeriod,
  type Quota,
  type QuotaConfiguration,
  quotaBytes,
} from '../../quota/quota-configuration.ts';
import type { QuotaSettings } from '../../quota/quota-settings.ts';
import { jsonAnswer } from '../answer.ts';
import { requireMediaType } from '../door/request-body.ts';
import { checkLayerQuotas, explainingUnits } from '../rest/disk-quota.ts';
import type { Handler, Route } from '../route.ts';
import { readQuotaObject } from '../wire/quota-document.ts';

export interface QuotaApiDeps {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly settings: QuotaSettings;
}

/** `/api/v1/quota`: the configuration of `/diskquota`, with numbers as numbers and without a root. */
export function quotaRoutes(deps: QuotaApiDeps): readonly Route[] {
  const path = '/api/v1/quota';
  const show: Handler = async () => jsonAnswer(quotaDocument(await deps.settings.read()));
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

function createChange({ catalog, settings }: QuotaApiDeps): Handler {
  return (exchange) =>
    explainingUnits(async () => {
      requireMediaType(exchange.headers, ['application/json']);
      const change = readQuotaObject(exchange.body);
      checkLayerQuotas(catalog, change.layerQuotas);
      const before = await settings.read();
      const after = await settings.change(change);
      exchange.change = { target: 'quota', before, after };
      return jsonAnswer(quotaDocument(after));
    });
}

function withBytes(quota: Quota) {
  return { ...quota, bytes: quotaBytes(quota) };
}
