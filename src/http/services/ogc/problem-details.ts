import { STATUS_CODES } from 'node:http';
import { isTilewardenError } from '../../../domain/errors.ts';
import type { Logger } from '../../../lib/logger.ts';
import { writeJson } from '../../../lib/write-json.ts';
import type { Answer, Headers } from '../../answer.ts';
import { CallerGone } from '../../exchange.ts';
import { HttpProblem, problemOf } from '../../problems.ts';
import type { Handler } from '../../route.ts';

/** Whatever goes wrong in `handler` is told as RFC 9457 has it. */
export function withProblemDetails(handler: Handler, log: Logger): Handler {
  return async (exchange) => {
    try {
      return await handler(exchange);
    } catch (error) {
      if (error instanceof CallerGone) throw error;
      const { answer, unexpected } = problemOf(asPathProblem(error), exchange.id);
      const { id: requestId, path } = exchange;
      if (unexpected) log.error({ requestId, path, err: error }, 'A request failed unexpectedly');
      return detailsAnswer(answer);
    }
  };
}

/** Elsewhere a grid set is a parameter; here it is part of the path, and a path that leads nowhere is a 404. */
function asPathProblem(error: unknown): unknown {
  return isTilewardenError(error, 'grid-set-unknown')
    ? new HttpProblem('path-unknown', error.message)
    : error;
}

function detailsAnswer({ status, headers, body }: Answer): Answer {
  const details = {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: String(body).trim(),
  };
  return {
    status,
    headers: ['Content-Type', 'application/problem+json', ...withoutType(headers)],
    body: `${writeJson(details)}\n`,
  };
}

function withoutType(headers: Headers): Headers {
  const at = headers.indexOf('Content-Type');
  return at < 0 ? headers : [...headers.slice(0, at), ...headers.slice(at + 2)];
}
