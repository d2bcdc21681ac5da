import { expect, it } from 'vitest';
import { createLoginSeal, LOGIN_LASTS_MS } from './pending-login.ts';

const LOGIN = {
  state: 'a state',
  nonce: 'a nonce',
  verifier: 'a verifier',
  redirectUri: 'http://localhost/login/oidc/callback',
  returnTo: '/ü',
};

it('a sealed sign-in opens with its state and key, for ten minutes, and not when a bit of it was changed', () => {
  let now = 0;
  const seal = createLoginSeal('a secret', { now: () => now });
  const sealed = seal.seal(LOGIN);
  expect(seal.open(sealed, 'a state')).toEqual(LOGIN);
  expect(seal.open(sealed, 'another')).toBe(null);
  expect(createLoginSeal('another', { now: () => now }).open(sealed, 'a state')).toBe(null);
  expect(['', 'AAAA', sealed.slice(4)].map((text) => seal.open(text, 'a state'))).toEqual([null, null, null]);
  const bytes = Buffer.from(sealed, 'base64url');
  expect(bytes.toString('latin1')).not.toMatch(/state|nonce|verifier/);
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(seal.open(changed.toString('base64url'), 'a state')).toBe(null);
  }
  now = LOGIN_LASTS_MS;
  expect(seal.open(sealed, 'a state')).toEqual(LOGIN);
  now++;
  expect(seal.open(sealed, 'a state')).toBe(null);
});
