import { Agent } from 'undici';

/**
 * The HTTP client of object stores. The SDKs' own is Node's, which shares code with Node's HTTP server: a process that
 * has used both answers every tile a tenth slower, because that code is then compiled for either.
 */
export function createObjectAgent(options: {
  readonly connections: number;
  readonly timeoutSeconds: number;
}): Agent {
  const timeout = options.timeoutSeconds * 1000;
  return new Agent({
    connections: options.connections,
    connect: { timeout },
    headersTimeout: timeout,
    bodyTimeout: timeout,
  });
}

/** In the words by which the SDKs know whether to try again. */
export function requestFailure(cause: unknown, aborted: boolean): Error {
  const message = cause instanceof Error ? cause.message : String(cause);
  return Object.assign(
    new Error(message, { cause }),
    aborted ? { name: 'AbortError' } : { code: 'ECONNRESET' },
  );
}
