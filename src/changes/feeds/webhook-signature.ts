import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The headers of a signed event, by name in lower case. */
export type SignedHeaders = (name: string) => string | undefined;

/** Seconds that a signed time may differ from now (standardwebhooks.com). */
const TOLERANCE_S = 300;
/** At least 24 bytes. */
const STANDARD_SECRET = /^whsec_([A-Za-z0-9+/]{32,}={0,2})$/;
/** For feeds that do not exist: their events take as long to refuse. */
const NO_SECRET = randomBytes(32);

/**
 * Whether an event is signed with the feed's secret: `X-Hub-Signature-256`, of the body alone, or the three headers of Standard
 * Webhooks, which sign id and time too, so that a captured event cannot be sent again. `secret` null: there is no such feed.
 */
export function isSigned(secret: string | null, body: Buffer, header: SignedHeaders, now: number): boolean {
  const key = keyOf(secret);
  const standard = header('webhook-signature');
  if (standard === undefined) {
    const [, hex = ''] = /^sha256=([0-9a-f]{64})$/i.exec(header('x-hub-signature-256') ?? '') ?? [];
    return matches(key, ['', body], Buffer.from(hex, 'hex'));
  }
  const [id = '', time = ''] = [header('webhook-id'), header('webhook-timestamp')];
  const isTimely = /^\d{1,12}$/.test(time) && Math.abs(now / 1000 - Number(time)) <= TOLERANCE_S;
  // While a secret is being replaced a sender signs with both.
  const signatures = standard.split(' ', 5).map((one) => Buffer.from(one.replace(/^v1,/, ''), 'base64'));
  const isRight = signatures
    .map((signature) => matches(key, [`${id}.${time}.`, body], signature))
    .includes(true);
  return isRight && isTimely && id !== '';
}

function keyOf(secret: string | null): Buffer {
  if (secret === null) return NO_SECRET;
  const [, encoded] = STANDARD_SECRET.exec(secret) ?? [];
  return encoded === undefined ? Buffer.from(secret, 'utf8') : Buffer.from(encoded, 'base64');
}

function matches(key: Buffer, [head, body]: readonly [string, Buffer], signature: Buffer): boolean {
  const right = createHmac('sha256', key).update(head).update(body).digest();
  return signature.length === right.length && timingSafeEqual(signature, right);
}
