import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';

/** 64 MiB and a third to half a second on a machine of today. */
export const DEFAULT_COST = { logN: 16, r: 8, p: 2 };
/** What one guess costs: 2^logN · r · 128 bytes of memory, p times over. */
export type ScryptCost = Readonly<typeof DEFAULT_COST>;

export interface StoredPassword {
  readonly cost: ScryptCost;
  readonly salt: Buffer;
  readonly key: Buffer;
}

const KEY_BYTES = 32;
const SALT_BYTES = 16;
const STORED = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/** Takes long and blocks: for the password thread only. */
export function deriveKey(password: string, salt: Uint8Array, { logN, r, p }: ScryptCost): Buffer {
  const N = 2 ** logN;
  // RFC 7914, 2: N · r · 128 bytes, and a little beside it.
  const maxmem = N * r * 128 + p * r * 128 + 1024 * 1024;
  return scryptSync(password.normalize('NFC'), salt, KEY_BYTES, { N, r, p, maxmem });
}

export function createSalt(): Buffer {
  return randomBytes(SALT_BYTES);
}

/** Self-describing, e.g. `$scrypt$ln=16,r=8,p=2$<salt>$<key>`, so that the cost can rise without a flag day. */
export function formatStored({ cost, salt, key }: StoredPassword): string {
  return `$scrypt$ln=${cost.logN},r=${cost.r},p=${cost.p}$${plainBase64(salt)}$${plainBase64(key)}`;
}

/** Null for text that no version of ours has written, and for costs that would stall the thread. */
export function parseStored(text: string): StoredPassword | null {
  const [, logN, r, p, salt = '', key = ''] = STORED.exec(text) ?? [];
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  const sane = cost.logN >= 1 && cost.logN <= 20 && cost.r >= 1 && cost.r <= 16 && cost.p >= 1 && cost.p <= 8;
  if (!sane) return null;
  return { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}

/** A stored password that nothing matches: checking one against it takes as long as against a real one. */
export function createUnmatchable(cost: ScryptCost): StoredPassword {
  return { cost, salt: createSalt(), key: randomBytes(KEY_BYTES) };
}

export function sameKey(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

export function sameCost(one: ScryptCost, other: ScryptCost): boolean {
  return one.logN === other.logN && one.r === other.r && one.p === other.p;
}

function plainBase64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
