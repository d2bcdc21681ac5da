import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { LoginThrottle, sourceOf } from './login-throttle.ts';

function setUp() {
  const clock = createVirtualClock();
  const throttle = new LoginThrottle(clock);
  const fail = async (address: string, account: string, times = 1) => {
    for (let i = 0; i < times; i++) await throttle.begin(address, account);
  };
  return { clock, throttle, fail };
}

function refusal(retryAfterSeconds: number) {
  return expect.objectContaining({ code: 'attempts-throttled', retryAfterSeconds });
}

describe('failed attempts', () => {
  it('failed attempts are refused from the eleventh on, whatever accounts they aim at', async () => {
    const { throttle, fail } = setUp();
    for (let i = 0; i < 10; i++) await fail('10.0.0.1', `user${i}`);
    await expect(throttle.begin('10.0.0.1', 'another')).rejects.toEqual(refusal(30));
  });

  it('failed attempts are refused on one account, wherever they come from', async () => {
    const { throttle, fail } = setUp();
    for (let i = 0; i < 5; i++) await fail(`10.0.0.${i}`, 'admin', 2);
    await expect(throttle.begin('10.0.0.1', 'admin')).rejects.toEqual(refusal(30));
    await expect(throttle.begin('10.0.0.1', 'mary')).resolves.toBeDefined();
  });

  it('failed attempts leave a first try to clients at other addresses', async () => {
    const { throttle, fail } = setUp();
    await fail('10.0.0.1', 'admin', 10);
    await expect(throttle.begin('10.0.0.2', 'admin')).resolves.toBeDefined();
    await expect(throttle.begin('10.0.0.2', 'admin')).rejects.toEqual(refusal(30));
  });

  it('failed attempts leave the next try to a client that waits as required, however long others must', async () => {
    const { clock, throttle, fail } = setUp();
    for (let i = 0; i < 100; i++) {
      await fail(`10.1.0.${i}`, 'admin', 1);
      clock.advance(1000);
    }
    await fail('10.0.0.2', 'admin');
    await expect(throttle.begin('10.0.0.2', 'admin')).rejects.toEqual(refusal(30));
    clock.advance(30_000);
    expect((await throttle.begin('10.0.0.2', 'admin')).standing).toBe('calm');
  });

  it('a client without a place among many logins is calm again after the time it was given, and not earlier', async () => {
    const { clock, throttle } = setUp();
    for (let i = 0; i < 20; i++) {
      expect((await throttle.begin('10.0.0.1', 'admin')).crowdedOut()).toEqual(refusal(30));
    }
    clock.advance(29_000);
    expect((await throttle.begin('10.0.0.1', 'admin')).standing).toBe('restless');
    clock.advance(60_000);
    expect((await throttle.begin('10.0.0.1', 'admin')).standing).toBe('calm');
  });

  it('failed attempts of a flood from a hundred sources are few, and a new client still comes first', async () => {
    const { clock, throttle } = setUp();
    let checked = 0;
    for (let guess = 0; guess < 200 * 60; guess++) {
      clock.advance(5);
      // In bursts, as guessers do: two seconds of guessing, two of rest.
      if (guess % 400 === 0) clock.advance(2000);
      try {
        const attempt = await throttle.begin(`10.1.0.${guess % 100}`, 'admin');
        // There is a place for one in fifty: what a password check takes.
        if (guess % 50 === 0) checked += 1;
        if (guess % 50 !== 0) attempt.crowdedOut();
      } catch {}
    }
    expect(checked).toBeLessThan(20);
    expect((await throttle.begin('10.0.0.2', 'admin')).standing).toBe('calm');
  });

  it('failed attempts do not lock out an owner who has logged in from there before', async () => {
    const { throttle, fail } = setUp();
    (await throttle.begin('10.0.0.9', 'admin')).succeeded();
    for (let i = 0; i < 10; i++) await fail('10.0.0.9', `guess${i}`);
    await fail('10.0.0.1', 'admin', 10);
    expect((await throttle.begin('10.0.0.9', 'admin')).standing).toBe('known');
    await expect(throttle.begin('10.0.0.9', 'guess')).rejects.toEqual(refusal(30));
  });

  it('failed attempts cost longer pauses each time, up to a quarter of an hour', async () => {
    const { clock, throttle, fail } = setUp();
    const pauses: number[] = [];
    await fail('10.0.0.1', 'admin', 10);
    for (let i = 0; i < 40; i++) {
      try {
        await throttle.begin('10.0.0.1', 'admin');
      } catch (error) {
        const seconds = (error as { retryAfterSeconds: number }).retryAfterSeconds;
        pauses.push(seconds);
        clock.advance(seconds * 1000);
      }
    }
    expect(pauses.slice(0, 6)).toEqual([30, 60, 120, 240, 480, 900]);
    expect(Math.max(...pauses)).toBe(900);
  });

  it('failed attempts during a pause do not make it longer', async () => {
    const { clock, throttle, fail } = setUp();
    await fail('10.0.0.1', 'admin', 10);
    for (let i = 0; i < 1000; i++) await expect(throttle.begin('10.0.0.1', 'admin')).rejects.toThrow();
    clock.advance(30_000);
    await expect(throttle.begin('10.0.0.1', 'admin')).resolves.toBeDefined();
  });

  it('failed attempts are forgotten after a while', async () => {
    const { clock, throttle, fail } = setUp();
    await fail('10.0.0.1', 'admin', 10);
    clock.advance(3 * 60 * 60_000);
    await fail('10.0.0.1', 'admin', 10);
    await expect(throttle.begin('10.0.0.1', 'admin')).rejects.toEqual(refusal(30));
  });

  it('failed attempts do not count when the password was never looked at, or was right', async () => {
    const { throttle } = setUp();
    for (let i = 0; i < 100; i++) (await throttle.begin('10.0.0.1', 'admin')).withdrawn();
    for (let i = 0; i < 100; i++) (await throttle.begin('10.0.0.1', 'admin')).succeeded();
    await expect(throttle.begin('10.0.0.1', 'admin')).resolves.toBeDefined();
  });

  it('failed attempts from very many sources are kept in bounded memory', async () => {
    const { throttle, fail } = setUp();
    await fail('192.0.2.1', 'admin');
    expect((await throttle.begin('192.0.2.1', 'mary')).standing).toBe('restless');
    for (let i = 0; i < 20_000; i++) await fail(`10.0.${i >> 8}.${i & 255}`, `user${i}`);
    expect((await throttle.begin('192.0.2.1', 'mary')).standing).toBe('calm');
  });
});

describe('the source of an attempt', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:0001:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['unknown', 'unknown'],
  ])('an attempt from %s has the source %s', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });
});
