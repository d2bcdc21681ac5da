import { createHash, randomBytes } from 'node:crypto';

/** The prefix identifies it to people and to secret scanners. */
const PREFIX = 'tw_';
const SECRET_BYTES = 32;
const TOKEN = /^tw_[A-Za-z0-9_-]{43}$/;

export function createTokenSecret(): string {
  return PREFIX + createSecret();
}

/** 256 random bits: they cannot be guessed, so a plain hash of them may be stored. */
export function createSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

export function isTokenShaped(text: string): boolean {
  return TOKEN.test(text);
}

export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
