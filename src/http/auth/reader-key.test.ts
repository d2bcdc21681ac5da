import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { layerNamed } from '../../../test/fixtures/http-app.ts';
import { hashSecret } from '../../access/api-token.ts';
import { KeyMeter } from '../../access/key-limits.ts';
import { KeyRing } from '../../access/key-ring.ts';
import { createReaderSecret } from '../../access/reader-key.ts';
import { createMemoryLedger } from '../../lib/budget.ts';
import { systemClock } from '../../lib/clock.ts';
import { createKeyCheck, type KeyMemory, presentedKeyOf } from './reader-key.ts';

const NO_LIMITS = { areas: null, origins: null, ratePerSecond: null, requestsPerDay: null, expiresAt: null };

/** Requests of one connection, to a layer that the key opens. */
function openConnection() {
  const secret = createReaderSecret();
  const ring = new KeyRing(systemClock);
  ring.change({ added: [{ id: 1, layers: ['ours'], hash: hashSecret(secret), ...NO_LIMITS }], removed: [] });
  const ledger = createMemoryLedger(systemClock);
  const meter = new KeyMeter(systemClock, { rates: ledger, days: ledger });
  const keys = createKeyCheck({ ring, meter, wrongKey: async () => {} }, () => false);
  const memory: KeyMemory = { key: null };
  const ask = (url: string, headers: Record<string, string> = {}) => {
    const request = { url, headers } as unknown as IncomingMessage;
    const presented = presentedKeyOf(request, () => memory);
    if (!presented) return null;
    void keys.admit(presented, request, memory);
    return { url: presented.url, opens: presented.opens(layerNamed('ours')) };
  };
  return {
    secret,
    ask,
    remove: () => ring.change({ added: [], removed: [1] }),
    uses: () => meter.takeUses(),
  };
}

describe('a reader key on a kept connection', () => {
  it('each request with the same reader key is let in and counted, until the key is deleted', () => {
    const { secret, ask, remove, uses } = openConnection();
    for (const row of [0, 1, 2]) {
      const path = `/tiles/ours/2/0/${row}.png`;
      expect(ask(`${path}?key=${secret}`)).toEqual({ url: path, opens: true });
    }
    expect(uses()).toEqual([{ id: 1, answered: 3, refused: 0 }]);
    remove();
    expect(ask(`/tiles/ours/2/0/3.png?key=${secret}`)).toMatchObject({ opens: false });
  });

  it('a reader key of an earlier request does not let in a request with another query', () => {
    const { secret, ask } = openConnection();
    ask(`/a?key=${secret}`);
    const other = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'E' : 'A'}`;
    expect(ask(`/a?key=${other}`)).toMatchObject({ opens: false });
    expect(ask(`/a?key=${other}&key=${secret}`)).toMatchObject({ opens: false });
    expect(ask(`/a?x?key=${secret}`)).toEqual({ url: '/a?x', opens: true });
    expect(ask(`/a?x?key=${secret}&b=1&KEY=${secret}&?b`)).toEqual({ url: '/a?x&b=1&?b', opens: true });
    expect(ask('/a')).toBeNull();
  });

  it('a reader key in the header of an earlier request does not let in requests without it', () => {
    const { secret, ask } = openConnection();
    expect(ask('/a', { 'x-api-key': secret })).toEqual({ url: '/a', opens: true });
    for (const url of ['/a', '/a?', '/a?null', `/a?${'x'.repeat(secret.length)}`])
      expect(ask(url)).toBeNull();
    expect(ask('/a?b=1', { 'x-api-key': secret })).toEqual({ url: '/a?b=1', opens: true });
  });
});
