import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { QuotaConfiguration } from '../../quota/quota-configuration.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { applyQuota } from '../api/quota.ts';
import { BODY_TYPES, requireMediaType } from '../auth/request-body.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import { type Response, textResponse } from '../response.ts';
import { readQuotaDocument, UnknownUnit, writeQuotaDocument } from './quota-document.ts';

/** Section 4.5 of the specification. */
export function quotaAs(format: DocumentFormat) {
  return async (_: Call, { quota }: ApiDeps) => configurationResponse(await quota.settings.read(), format);
}

/** An error response of several lines. */
async function explainingUnits(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnknownUnit)) throw error;
    return textResponse(statusOf('request-invalid'), error.report, ['Cache-Control', 'no-store']);
  }
}

export function changeQuotaBy(format: DocumentFormat) {
  return (call: Call, deps: ApiDeps) =>
    explainingUnits(async () => {
      const { headers, body } = call.context;
      requireMediaType(headers, BODY_TYPES[format]);
      return configurationResponse(await applyQuota(call, deps, readQuotaDocument(body, format)), format);
    });
}

function configurationResponse(configuration: QuotaConfiguration, format: DocumentFormat): Response {
  return {
    status: 200,
    headers: ['Content-Type', format === 'xml' ? 'application/xml' : 'application/json'],
    body: writeQuotaDocument(configuration, format),
  };
}

export function refuseFormat(): never {
  throw new HttpProblem('path-unknown', 'The disk quota comes as xml or json.');
}
