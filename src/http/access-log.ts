import { appendFile } from 'node:fs/promises';
import type { Caller } from '../access/caller.ts';
import { decodeUriPart } from '../lib/decode-uri.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { RequestHead } from './request-head.ts';

interface AccessEntry {
  readonly request: Pick<RequestHead, 'method' | 'url' | 'httpVersion' | 'headers'>;
  readonly address: string;
  readonly caller: Pick<Caller, 'name' | 'via'> | null;
  readonly status: number;
  readonly bytes: number;
  readonly ms: number;
  /** Value of `X-Cache`; null: the response has none. */
  readonly cache: string | null;
}

const FLUSH_MS = 1000;
/** Characters after which lines are written early, and above which further ones are lost. */
const FLUSH_AT = 64 * 1024;
const MAX_WAITING = 8 * 1024 * 1024;
const FILE_MODE = 0o640;

export type AccessLog = ReturnType<typeof openAccessLog>;

/**
 * Lines are collected and appended about once a second, whole lines at a time, so that several processes can share a file.
 * The file is opened for each write, as it may have been moved or removed. Lines that cannot be written are lost.
 */
export function openAccessLog(file: string, format: 'combined' | 'json', { clock, log }: Env) {
  const write = format === 'json' ? jsonLine : createCombinedLine();
  let waiting = '';
  let failing = false;

  async function flush(): Promise<void> {
    const lines = waiting;
    waiting = '';
    if (lines === '') return;
    try {
      await appendFile(file, lines, { mode: FILE_MODE });
      failing = false;
    } catch (error) {
      if (!failing)
        log.error({ err: error, file }, 'the access log cannot be written; requests are not logged');
      failing = true;
    }
  }

  const failure = 'the access log cannot be written';
  const flushing = openRepeater(flush, { clock, log, pause: FLUSH_MS, failure, pauseFirst: true });
  return {
    add(entry: AccessEntry): void {
      if (waiting.length > MAX_WAITING) return;
      waiting += write(entry, clock.now());
      if (waiting.length >= FLUSH_AT) flushing.wake();
    },
    flush,
    async close(): Promise<void> {
      await flushing.close();
      await flush();
    },
  };
}

function jsonLine({ request, address, caller, ...rest }: AccessEntry, now: number): string {
  const { headers } = request;
  const { status, bytes, ms, cache } = rest;
  const entry = {
    time: new Date(now).toISOString(),
    address,
    user: caller?.name ?? null,
    via: caller?.via ?? null,
    method: request.method ?? '',
    path: withoutSecrets(request.url ?? ''),
    status,
    bytes,
    ms: Math.round(ms * 1000) / 1000,
    cache,
    referer: headers.referer === undefined ? null : withoutSecrets(headers.referer),
    userAgent: headers['user-agent'] ?? null,
  };
  return `${JSON.stringify(entry)}\n`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Apache's Combined Log Format. */
function createCombinedLine(): typeof jsonLine {
  let second = Number.NaN;
  let time = '';
  return (entry, now) => {
    if (Math.floor(now / 1000) !== second) time = combinedTime(new Date(now));
    second = Math.floor(now / 1000);
    return combinedLine(entry, time);
  };
}

function combinedTime(time: Date): string {
  const [, year, month, day, clockTime] = /^(\d+)-(\d+)-(\d+)T([\d:]+)/.exec(time.toISOString()) ?? [];
  return `${day}/${MONTHS[Number(month) - 1]}/${year}:${clockTime} +0000`;
}

function combinedLine({ request, address, caller, status, bytes }: AccessEntry, at: string): string {
  const { headers, method = '', url = '', httpVersion } = request;
  const line = `${method} ${withoutSecrets(url)} HTTP/${httpVersion}`;
  const user = escaped(caller?.name ?? '-').replaceAll(' ', '\\x20');
  const referer = headers.referer === undefined ? '-' : withoutSecrets(headers.referer);
  return `${address} - ${user} [${at}] "${escaped(line)}" ${status} ${bytes || '-'} "${escaped(referer)}" "${escaped(headers['user-agent'] ?? '-')}"\n`;
}

/** Escaped byte by byte, so that an entry stays one line with balanced quotes. */
function escaped(text: string): string {
  const bytesOf = (other: string) => Buffer.from(other).toString('hex').replaceAll(/../g, '\\x$&');
  return text.replaceAll(/["\\]|[^\x20-\x7e]/gu, bytesOf);
}

const SECRETS: ReadonlySet<string> = new Set(['key', 'authkey', 'access_token', 'code', 'state', 'document']);

/** Masks the values of parameters that may be secrets, and drops the user and password before the host. */
export function withoutSecrets(address: string, depth = 0): string {
  const bare = address.includes('@') ? address.replace(/\/\/[^/?#@]*@/, '//') : address;
  const mark = bare.search(/[?#]/);
  if (mark < 0) return bare;
  const pairs = bare.slice(mark + 1).split(/([&;?#])/);
  return bare.slice(0, mark + 1) + pairs.map((pair) => maskedPair(pair, depth)).join('');
}

/** Levels of addresses within addresses that are read; deeper values are masked. */
const MAX_DEPTH = 3;

function maskedPair(pair: string, depth: number): string {
  const equals = pair.indexOf('=');
  if (equals < 0) return pair;
  const name = pair.slice(0, equals);
  if (SECRETS.has(decodeUriPart(name, name).toLowerCase())) return `${name}=***`;
  // An address within the address, such as the page to return to after a sign-in.
  const text = pair.slice(equals + 1);
  const value = decodeUriPart(text, text);
  const masked = depth < MAX_DEPTH ? withoutSecrets(value, depth + 1) : '***';
  return masked === value ? pair : `${name}=${encodeURIComponent(masked)}`;
}
