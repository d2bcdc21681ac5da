import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { connectionOf } from '../exchange.ts';
import { type HttpProblemCode, statusOf } from '../problems.ts';

/** What did not become a request: answered in one line, after the requests that came before it; then the connection ends. */
export function answerBrokenConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const end = () => endWith(socket, problemOf(error.code ?? ''));
  const { lastResponse } = connectionOf(socket);
  // One whose request never arrived whole is not going to be answered.
  const waits = lastResponse !== null && !lastResponse.writableFinished && lastResponse.req.complete;
  if (waits) lastResponse.once('close', end);
  else end();
}

function endWith(
  socket: Socket,
  { code, message }: { readonly code: HttpProblemCode; readonly message: string },
): void {
  const status = statusOf(code);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n` +
      'Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n' +
      `Content-Length: ${message.length}\r\nConnection: close\r\n\r\n${message}`,
  );
}

function problemOf(code: string): { readonly code: HttpProblemCode; readonly message: string } {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { code: 'headers-too-large', message: 'The address and headers of the request are too long.\n' };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { code: 'request-timeout', message: 'The request took too long to arrive.\n' };
  }
  return { code: 'body-unreadable', message: 'This is not a valid HTTP request.\n' };
}
