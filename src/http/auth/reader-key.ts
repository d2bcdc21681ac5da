import type { Socket } from 'node:net';
import type { KeyAuth } from '../../access/open-reader-keys.ts';
import { type HeldKey, mayRead } from '../../access/reader-key.ts';
import type { Layer } from '../../domain/layer.ts';
import { decodeUriPart } from '../../lib/decode-uri.ts';
import { HttpProblem, tooMany } from '../problems.ts';
import type { RequestHead } from '../request-head.ts';
import type { TrustsProxy } from './peer.ts';
import { sourceAddress } from './request-checks.ts';

const HEADER = 'x-api-key';
const IN_ADDRESS = /[?&](key|authkey|access_token)=/i;
/** In a pair of the query; some clients begin theirs with a second question mark. */
const IN_PAIR = /(?:^|\?)(key|authkey|access_token)=(.*)/is;
const KEY_NAMES: ReadonlySet<string> = new Set(['KEY', 'AUTHKEY', 'ACCESS_TOKEN']);

export function isKeyName(name: string): boolean {
  return KEY_NAMES.has(name);
}

interface Candidate {
  /** The pair of the query, e.g. `key=…`; null: sent in a header. */
  readonly pair: string | null;
  /** In upper case. */
  readonly name: string;
  readonly secret: string;
  /** Null: not a valid key. */
  held: HeldKey | null;
}

/** Texts in a request that may be its reader key. Some may be parameters of the layer, with the same name. */
export class PresentedKey {
  /** The address without the key. */
  readonly url: string;
  candidates: readonly Candidate[];
  held: HeldKey | null = null;
  /** Why a valid key may not be used now. */
  problem: HttpProblem | null = null;

  constructor(url: string, candidates: readonly Candidate[]) {
    this.url = url;
    this.candidates = candidates;
  }

  get refusal(): 'unknown' | HttpProblem | null {
    const { held } = this;
    const isKnown = held !== null && this.candidates.every((candidate) => candidate.held === held);
    return isKnown ? this.problem : 'unknown';
  }

  /** Whether the key allows reading the layer. */
  opens(layer: Layer): boolean {
    return this.refusal === null && !this.candidates.some(isParameterOf(layer)) && this.mayRead(layer);
  }

  mayRead({ name }: Layer): boolean {
    return this.held !== null && mayRead(this.held, name);
  }

  /** Removes the layer's own parameters from the candidates, and returns their pairs. */
  takeLayerParameters(layer: Layer): readonly string[] {
    const isOwn = isParameterOf(layer);
    const released = this.candidates.filter(isOwn);
    this.candidates = this.candidates.filter((candidate) => !isOwn(candidate));
    return released.map(({ pair }) => pair ?? '');
  }

  /** For addresses in documents, under a name that is not a parameter of these layers; null: the key is not in the address. */
  pairFor(layers: readonly Layer[]): string | null {
    const inAddress = this.candidates.find(({ pair }) => pair !== null);
    if (!inAddress) return null;
    const isUsed = (name: string) => layers.some(isOwner(name));
    const name = [inAddress.name, ...KEY_NAMES].find((each) => !isUsed(each)) ?? inAddress.name;
    return `${name.toLowerCase()}=${encodeURIComponent(inAddress.secret)}`;
  }
}

function isParameterOf(layer: Layer): (candidate: Candidate) => boolean {
  return ({ name, pair }) => pair !== null && isOwner(name)(layer);
}

function isOwner(name: string): (layer: Layer) => boolean {
  return ({ parameters }) => parameters.some((parameter) => parameter.name === name);
}

export function presentedKeyOf(
  { url = '', headers, socket }: RequestHead,
  memoryOf: (socket: Socket) => KeyMemory,
): PresentedKey | null {
  const inHeader = headers[HEADER];
  const mark = url.indexOf('?');
  if (inHeader === undefined) {
    if (mark < 0) return null;
    const known = memoryOf(socket).key;
    if (known && url.length - mark === known.query.length && url.endsWith(known.query)) {
      // Without a spread, which takes ten times as long.
      const { pair, name, secret } = known.candidate;
      return new PresentedKey(url.slice(0, mark), [{ pair, name, secret, held: null }]);
    }
  }
  let bare = url;
  const candidates: Candidate[] = [];
  if (mark >= 0 && IN_ADDRESS.test(url)) {
    const take = (_: string, name: string, value: string) => {
      const secret = decodeUriPart(value, '');
      candidates.push({ pair: `${name}=${value}`, name: name.toUpperCase(), secret, held: null });
      return '';
    };
    const pairs = url.slice(mark + 1).split('&');
    const query = pairs.map((pair) => pair.replace(IN_PAIR, take)).filter(Boolean);
    bare = [url.slice(0, mark), query.join('&')].filter(Boolean).join('?');
  }
  if (inHeader !== undefined)
    candidates.push({ pair: null, name: HEADER, secret: String(inHeader), held: null });
  return candidates.length === 0 ? null : new PresentedKey(bare, candidates);
}

/** For a layer that the key does not open: the same whether or not it exists. */
export function layerRefused(key: PresentedKey): HttpProblem {
  if (key.refusal !== null) return keyRefused(key);
  return new HttpProblem('forbidden', 'This key is not valid for this layer.');
}

/** For an unusable key. The dispatcher replaces this response with that of `refuse`, which counts wrong keys. */
export function keyRefused({ refusal }: PresentedKey): HttpProblem {
  return refusal === null || refusal === 'unknown' ? keyUnknown() : refusal;
}

function keyUnknown(): HttpProblem {
  return new HttpProblem('credentials-needed', 'This key is unknown, expired or deleted.', [
    'WWW-Authenticate',
    'ApiKey realm="Tilewarden"',
  ]);
}

/** The last key of a connection: finding it again costs a comparison instead of a digest. */
export interface KeyMemory {
  key: {
    readonly candidate: Candidate;
    readonly held: HeldKey;
    /** Query with only the key; empty: the key was sent in a header. */
    readonly query: string;
  } | null;
}

export function createKeyCheck({ ring, meter, wrongKey }: KeyAuth, trusts: TrustsProxy) {
  function find(candidate: Candidate, memory: KeyMemory): HeldKey | null {
    const known = memory.key;
    if (known && known.candidate.secret === candidate.secret && ring.isValid(known.held)) return known.held;
    const held = ring.find(candidate.secret);
    const { pair } = candidate;
    memory.key = held && { candidate, held, query: pair === null ? '' : `?${pair}` };
    return held;
  }

  return {
    /** Finds the key, and counts the request against its limits. Null: done without a wait. */
    admit(presented: PresentedKey, request: RequestHead, memory: KeyMemory): Promise<void> | null {
      for (const candidate of presented.candidates) {
        candidate.held = find(candidate, memory);
        presented.held ??= candidate.held;
      }
      const { held } = presented;
      if (!held) return null;
      if (held.origins && !held.origins.includes(originOf(request) ?? '')) {
        presented.problem = new HttpProblem('forbidden', 'This key is not valid for this origin.');
        return null;
      }
      const verdict = meter.admit(held);
      if (verdict === null) return null;
      const note = (wait: number | null) => {
        if (wait !== null) presented.problem = tooMany('The request limit of this key is exceeded.', wait);
      };
      if (verdict instanceof Promise) return verdict.then(note);
      note(verdict);
      return null;
    },
    /** The error to respond with. Wrong keys count against the address of the caller. */
    async refuse(presented: PresentedKey, request: RequestHead): Promise<unknown> {
      if (presented.refusal !== 'unknown') return keyRefused(presented);
      try {
        await wrongKey(sourceAddress(request, trusts));
        return keyUnknown();
      } catch (throttled) {
        return throttled;
      }
    },
  };
}

/** RFC 6454: the origin of the page; for images browsers send `Referer` only. */
function originOf({ headers: { origin, referer = '' } }: RequestHead): string | null {
  if (origin !== undefined) return origin;
  return URL.canParse(referer) ? new URL(referer).origin : null;
}

/** Puts a key into every address of this server in a document; `ampersand` as the document's language writes it. */
export function withKeyInAddresses(
  text: string,
  base: string,
  pair: string,
  ampersand: '&' | '&amp;',
): string {
  const parts = text.split(base);
  return parts
    .map((part, i) => {
      if (i === 0) return part;
      // The start page shows the map and the console, which take no key.
      if (!part.startsWith('/') || part.startsWith('/#')) return `${base}${part}`;
      const end = part.search(/["'<>\s]|$/);
      return `${base}${keyed(part.slice(0, end), pair, ampersand)}${part.slice(end)}`;
    })
    .join('');
}

export function hasKeyInAddress({ key }: { readonly key: PresentedKey | null }): boolean {
  return key?.pairFor([]) != null;
}

/** The document, with the key of the request's address, if there is one, in its addresses. */
export function carryKey(
  { key, baseUrl }: { readonly key: PresentedKey | null; readonly baseUrl: string },
  text: string,
  layers: readonly Layer[],
  ampersand: '&' | '&amp;',
): string {
  const pair = key?.pairFor(layers) ?? null;
  return pair === null ? text : withKeyInAddresses(text, baseUrl, pair, ampersand);
}

function keyed(path: string, pair: string, ampersand: string): string {
  const mark = path.indexOf('?');
  if (mark < 0) return `${path}?${pair}`;
  return `${path.slice(0, mark + 1)}${pair}${ampersand}${path.slice(mark + 1)}`;
}

const PREFLIGHT: readonly string[] = [
  ...['Access-Control-Allow-Methods', 'GET, HEAD, POST'],
  'Access-Control-Allow-Headers',
  'X-Api-Key, Content-Type, If-None-Match, If-Modified-Since, Authorization',
  ...['Access-Control-Max-Age', '86400'],
];

/** Fetch, 3.2.2: before a page of another site may send `X-Api-Key`, its browser sends this request. */
export function preflightResponse({ method, headers }: RequestHead) {
  if (method !== 'OPTIONS' || headers.origin === undefined) return null;
  return { status: 204, headers: PREFLIGHT, body: null };
}
