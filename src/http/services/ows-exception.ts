import { type ErrorCode, isTilewardenError } from '../../domain/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { element, writeXml } from '../../lib/xml/write-xml.ts';
import type { Answer } from '../answer.ts';
import { CallerGone, type Exchange } from '../exchange.ts';
import { HttpProblem, type HttpProblemCode, problemOf, statusOf } from '../problems.ts';
import type { Handler } from '../route.ts';

/** OGC 06-121r3, table 25; `TileOutOfRange` and `PointIJOutOfRange` are from OGC 07-057r7, tables 23 and 29. */
export type OwsCode =
  | 'MissingParameterValue'
  | 'InvalidParameterValue'
  | 'TileOutOfRange'
  | 'PointIJOutOfRange'
  | 'VersionNegotiationFailed'
  | 'OperationNotSupported'
  | 'NoApplicableCode';

/** What each of them is to the rest of the house, which gives it a status. */
const MEANING: Readonly<Record<Exclude<OwsCode, 'NoApplicableCode'>, ErrorCode | HttpProblemCode>> = {
  MissingParameterValue: 'request-invalid',
  InvalidParameterValue: 'request-invalid',
  TileOutOfRange: 'request-invalid',
  PointIJOutOfRange: 'request-invalid',
  VersionNegotiationFailed: 'request-invalid',
  OperationNotSupported: 'operation-unsupported',
};

export class OwsException extends Error {
  readonly code: keyof typeof MEANING;
  /** The parameter that is to blame. */
  readonly locator: string | null;

  /** `message` is shown to the caller. */
  constructor(code: keyof typeof MEANING, locator: string | null, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OwsException';
    this.code = code;
    this.locator = locator;
  }
}

/** What `read` throws because of the caller's choice is blamed on the parameter `locator`. */
export function blaming<Result>(locator: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    throw new OwsException('InvalidParameterValue', locator, error.message, { cause: error });
  }
}

/** Whatever goes wrong in `handler` is told in an exception report. Who has to log in is told so by status and header. */
export function withOwsExceptions(handler: Handler, log: Logger): Handler {
  const tell = (error: unknown, exchange: Exchange): Answer => {
    if (error instanceof CallerGone || error instanceof HttpProblem) throw error;
    if (error instanceof OwsException) return exceptionAnswer(error);
    // As GeoWebCache has it.
    if (isTilewardenError(error, 'layer-disabled')) {
      return exceptionAnswer(new OwsException('InvalidParameterValue', 'LAYERS', error.message));
    }
    return failureAnswer(error, exchange, log);
  };
  return (exchange) => {
    try {
      const answer = handler(exchange);
      return answer instanceof Promise ? answer.catch((error: unknown) => tell(error, exchange)) : answer;
    } catch (error) {
      return tell(error, exchange);
    }
  };
}

function exceptionAnswer({ code, locator, message }: OwsException): Answer {
  return reportAnswer(statusOf(MEANING[code]), code, locator, message, ['Cache-Control', 'no-store']);
}

function failureAnswer(error: unknown, exchange: Exchange, log: Logger): Answer {
  const { answer, unexpected } = problemOf(error, exchange.id);
  const details = { requestId: exchange.id, path: exchange.path, err: error };
  if (unexpected) log.error(details, 'A request failed unexpectedly');
  // Without the first pair, which says that the body is text.
  const headers = answer.headers.slice(2);
  return reportAnswer(answer.status, 'NoApplicableCode', null, String(answer.body).trimEnd(), headers);
}

function reportAnswer(
  status: number,
  code: OwsCode,
  locator: string | null,
  message: string,
  headers: readonly string[],
): Answer {
  const text = element('ExceptionText', message);
  const exception = element('Exception', [text], {
    exceptionCode: code,
    ...(locator !== null && { locator }),
  });
  // OGC 06-121r3, 8.4: the version is that of the report, not of the service.
  const report = element('ExceptionReport', [exception], {
    xmlns: 'http://www.opengis.net/ows/1.1',
    version: '1.1.0',
    'xml:lang': 'en',
  });
  return { status, headers: ['Content-Type', 'text/xml; charset=utf-8', ...headers], body: writeXml(report) };
}
