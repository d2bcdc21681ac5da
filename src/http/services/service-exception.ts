import { isTilewardenError, shortened } from '../../domain/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { isKeyName } from '../auth/reader-key.ts';
import { CallerGone, type Context } from '../context.ts';
import { html as markup } from '../page.ts';
import { HttpProblem, problemOf, statusOf } from '../problems.ts';
import type { Response } from '../response.ts';
import { type Handler, recovering } from '../route.ts';
import { type Kvp, pairsOf, readKvp } from './kvp.ts';

/** OGC 06-121r3, table 25; WMS 1.3.0, table E.1; the last two: OGC 07-057r7, tables 23 and 29. */
export type ServiceCode =
  | 'MissingParameterValue'
  | 'InvalidParameterValue'
  | 'VersionNegotiationFailed'
  | 'OperationNotSupported'
  | 'InvalidFormat'
  | 'InvalidSRS'
  | 'InvalidCRS'
  | 'LayerNotDefined'
  | 'StyleNotDefined'
  | 'LayerNotQueryable'
  | 'InvalidPoint'
  | 'InvalidDimensionValue'
  | 'TileOutOfRange'
  | 'PointIJOutOfRange';

export class ServiceException extends Error {
  readonly code: ServiceCode;
  readonly locator: string | null;

  /** `message` is shown to the caller. */
  constructor(code: ServiceCode, locator: string | null, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServiceException';
    this.code = code;
    this.locator = locator;
  }
}

export function badValue(locator: string, message: string): ServiceException {
  return new ServiceException('InvalidParameterValue', locator, message);
}

/** Errors of `read` name the parameter `locator`. */
export function blaming<Result>(code: ServiceCode, locator: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    // Times that are not known yet are not the fault of the request.
    if (!isTilewardenError(error) || error.code === 'source-unavailable') throw error;
    throw new ServiceException(code, locator, error.message, { cause: error });
  }
}

export function readPairs(context: Context): Kvp {
  const refusal = (name: string) => badValue(name, `The parameter ${name} is given twice.`);
  const pairs = readKvp(pairsOf(context), refusal);
  // These names may be parameters of the layer, which is known only later: `released` is read then.
  const own: Kvp = (name) => (isKeyName(name) ? readKvp(context.released, refusal)(name) : null);
  return (name) => pairs(name) ?? own(name);
}

export function required(kvp: Kvp, name: string, locator = name): string {
  const value = kvp(name);
  if (value !== null) return value;
  throw new ServiceException('MissingParameterValue', locator, `The parameter ${locator} is missing.`);
}

export function checkService(kvp: Kvp, own: 'WMS' | 'WMTS'): void {
  const service = kvp('SERVICE');
  if (service === null || service.toUpperCase() === own) return;
  const message = `This is a ${own}, not a ${shortened(service)}; leave SERVICE out or say SERVICE=${own}.`;
  throw badValue('SERVICE', message);
}

export type ExceptionReport = ReturnType<typeof reportOf>;

/** `code` is null unless the client caused it. */
export function reportOf(error: unknown, context: Context, log: Logger) {
  if (error instanceof ServiceException) {
    const { code, locator, message } = error;
    const status = statusOf(code === 'OperationNotSupported' ? 'operation-unsupported' : 'request-invalid');
    return { status, code, locator, message, headers: ['Cache-Control', 'no-store'] };
  }
  const { answer, unexpected } = problemOf(error, context.id);
  const details = { requestId: context.id, path: context.path, err: error };
  if (unexpected) log.error(details, 'A request failed unexpectedly');
  const [, , ...headers] = answer.headers; // The first pair is `Content-Type`.
  return {
    status: answer.status,
    code: null,
    locator: null,
    message: String(answer.body).trimEnd(),
    headers,
  };
}

/** Failures of `handler` are written by `write`; missing credentials are a 401 with its header. */
export function withExceptions(
  handler: Handler,
  log: Logger,
  write: (report: ExceptionReport, context: Context) => Response | Promise<Response>,
): Handler {
  return recovering(handler, (error, context) => {
    if (error instanceof CallerGone || error instanceof HttpProblem) throw error;
    return write(reportOf(error, context, log), context);
  });
}

/** Writes an exception report of OGC 06-121r3; a disabled layer is reported like in GeoWebCache. */
export function withOwsExceptions(handler: Handler, log: Logger): Handler {
  const blamed = recovering(handler, (error) => {
    throw isTilewardenError(error, 'layer-disabled') ? badValue('LAYERS', error.message) : error;
  });
  return withExceptions(blamed, log, ({ status, code, locator, message, headers }) => {
    const place = locator === null ? markup`` : markup` locator="${locator}"`;
    // OGC 06-121r3, 8.4: the version of the report, not of the service.
    const report = markup`<ExceptionReport xmlns="http://www.opengis.net/ows/1.1" version="1.1.0" xml:lang="en"><Exception exceptionCode="${code ?? 'NoApplicableCode'}"${place}><ExceptionText>${message}</ExceptionText></Exception></ExceptionReport>`;
    return { status, headers: ['Content-Type', 'text/xml; charset=utf-8', ...headers], body: report.markup };
  });
}
