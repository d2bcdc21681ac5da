import { invalid } from '../domain/errors.ts';
import { matchesPattern } from '../lib/scan-text.ts';
import { createSecret } from './api-token.ts';
import type { ApiToken } from './token-store.ts';
import { checkAreas, checkExpiry, checkLayerPatterns } from './user.ts';

/** Lets a map client read some layers, closed ones included. It gives no administrative right. */
export interface ReaderKey
  extends Pick<ApiToken, 'id' | 'name' | 'layers' | 'expiresAt' | 'createdAt' | 'lastUsedAt'> {
  /** Names of the areas that it shows; null: everywhere. */
  readonly areas: readonly string[] | null;
  /** Null: any. */
  readonly origins: readonly string[] | null;
  /** Null: no limit. */
  readonly ratePerSecond: number | null;
  readonly requestsPerDay: number | null;
  /** Answered since midnight UTC, by all nodes, to the minute; with a limit for the day: counted against it. */
  readonly requestsToday: number;
}

export type ReaderKeyDraft = Omit<ReaderKey, 'id' | 'createdAt' | 'lastUsedAt' | 'requestsToday'>;

/** A key as every process needs it. */
export interface HeldKey
  extends Pick<
    ReaderKey,
    'id' | 'layers' | 'areas' | 'origins' | 'ratePerSecond' | 'requestsPerDay' | 'expiresAt'
  > {
  /** SHA-256 of the secret, hexadecimal. */
  readonly hash: string;
}

/** The prefix identifies it to people and to secret scanners. */
const SECRET = /^twk_[A-Za-z0-9_-]{43}$/;

export function createReaderSecret(): string {
  return `twk_${createSecret()}`;
}

export function isReaderSecretShaped(text: string): boolean {
  return SECRET.test(text);
}

export function mayRead({ layers }: Pick<HeldKey, 'layers'>, layer: string): boolean {
  return layers.some((pattern) => matchesPattern(pattern, layer));
}

const MAX_NAME_LENGTH = 100;
const MAX_ORIGINS = 100;
const MAX_LIMIT = 1_000_000_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: names are shown on one line
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Throws `request-invalid`. */
export function checkReaderKey(draft: ReaderKeyDraft, now: number): void {
  const { name, layers, areas, origins, ratePerSecond, requestsPerDay, expiresAt } = draft;
  if (name.trim() === '' || name.length > MAX_NAME_LENGTH || CONTROLS.test(name)) {
    throw invalid(`name must have 1 to ${MAX_NAME_LENGTH} characters on one line.`);
  }
  checkLayerPatterns(layers);
  if (areas !== null) checkAreas(areas);
  if (origins !== null) checkOrigins(origins);
  checkLimit('ratePerSecond', ratePerSecond);
  checkLimit('requestsPerDay', requestsPerDay);
  checkExpiry(expiresAt, now);
}

function checkOrigins(origins: readonly string[]): void {
  if (origins.length >= 1 && origins.length <= MAX_ORIGINS && origins.every(isOrigin)) return;
  throw invalid(
    `origins must be null or list 1 to ${MAX_ORIGINS} origins such as https://maps.example.org, without path or closing slash.`,
  );
}

/** RFC 6454, 6.2: as browsers write it, in lower case and without the default port. */
function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

function checkLimit(field: 'ratePerSecond' | 'requestsPerDay', limit: number | null): void {
  if (limit === null || (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT)) return;
  throw invalid(`${field} must be null or a whole number from 1 to ${MAX_LIMIT}.`);
}
