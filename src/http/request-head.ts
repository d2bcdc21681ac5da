import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** A request without its body. */
export type RequestHead = Pick<
  IncomingMessage,
  'method' | 'url' | 'httpVersion' | 'headers' | 'rawHeaders' | 'socket'
>;

/** The headers of a request, and their text. */
export interface HeaderBlock extends Pick<RequestHead, 'headers' | 'rawHeaders'> {
  readonly text: string;
}

/**
 * Headers without a meaning for the framing of a message or the connection. A request with any other one, or with one twice,
 * is left to `node:http`.
 */
const ALLOWED: ReadonlySet<string> = new Set(
  (
    'accept accept-charset accept-encoding accept-language authorization cache-control cookie dnt forwarded from host ' +
    'if-modified-since if-none-match origin pragma priority purpose referer sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform ' +
    'sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user sec-gpc sec-purpose traceparent tracestate ' +
    'upgrade-insecure-requests user-agent via x-api-key x-forwarded-for x-forwarded-host x-forwarded-port ' +
    'x-forwarded-prefix x-forwarded-proto x-forwarded-server x-real-ip x-request-id x-requested-with cdn-loop ' +
    'cf-connecting-ip cf-ipcountry cf-ray cf-visitor x-amzn-trace-id x-amz-cf-id'
  ).split(' '),
);

const METHOD = 'GET ';
const VERSION = ' HTTP/1.1';
const LINE_END = '\r\n';
const HEAD_END = '\r\n\r\n';
/** Path and query of RFC 3986, without a fragment. */
const TARGET = /^\/[\w.~!$&'()*+,;=:@%/?-]*$/;
/** One space before the value, none after it; visible ASCII only. */
const HEADER = /^([A-Za-z-]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/;

/** The target of a text that is one `GET … HTTP/1.1` and ends with an empty line; null otherwise. `lineEnd`: of its first line. */
export function readTarget(text: string, lineEnd: number): string | null {
  if (!text.startsWith(METHOD) || !text.endsWith(HEAD_END)) return null;
  const end = lineEnd - VERSION.length;
  if (end <= METHOD.length || !text.startsWith(VERSION, end)) return null;
  const target = text.slice(METHOD.length, end);
  return TARGET.test(target) ? target : null;
}

/** `text` from the first header to the empty line. Null: left to `node:http`. */
export function readHeaders(text: string): HeaderBlock | null {
  const headers: IncomingHttpHeaders = {};
  const rawHeaders: string[] = [];
  for (const line of text.slice(0, -HEAD_END.length).split(LINE_END)) {
    const [, name = '', value = ''] = HEADER.exec(line) ?? [];
    const plain = name.toLowerCase();
    if (plain === 'connection') {
      if (value.toLowerCase() !== 'keep-alive') return null;
    } else if (!ALLOWED.has(plain)) return null;
    if (plain in headers) return null;
    headers[plain] = value;
    rawHeaders.push(name, value);
  }
  return headers.host === undefined ? null : { text, headers, rawHeaders };
}
