import { describe, expect, it, onTestFinished } from 'vitest';
import { CHEAP } from '../../test/fixtures/accounts.ts';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { Standing } from './login-throttle.ts';
import { DEFAULT_COST, openPasswordHasher, parseStored } from './password-hasher.ts';

function open(cost = CHEAP, clock = systemClock) {
  const hasher = openPasswordHasher({ log: silentLogger, clock }, cost);
  onTestFinished(() => hasher.close());
  return hasher;
}

describe('a stored password', () => {
  it('a password hash matches the password it was made of and no other', async () => {
    const hasher = open();
    const stored = await hasher.hash('correct horse');
    expect(stored).toMatch(/^\$scrypt\$ln=4,r=8,p=1\$/);
    expect(stored).not.toContain('horse');
    expect(await hasher.check('correct horse', stored, 'calm')).toEqual({ matches: true, outdated: false });
    expect(await hasher.check('correct hors', stored, 'calm')).toEqual({ matches: false, outdated: false });
  });

  it('a password hash matches however the accents were typed', async () => {
    const hasher = open();
    const stored = await hasher.hash('caf\u00e9 caf\u00e9 caf\u00e9');
    expect(await hasher.check('cafe\u0301 cafe\u0301 cafe\u0301', stored, 'calm')).toMatchObject({
      matches: true,
    });
  });

  it('the hash of a password differs every time', async () => {
    const hasher = open();
    expect(await hasher.hash('same')).not.toBe(await hasher.hash('same'));
  });

  it('a password hash of an older cost still matches, and counts as outdated', async () => {
    const stored = await open().hash('correct horse');
    const dearer = open({ logN: 5, r: 8, p: 1 });
    expect(await dearer.check('correct horse', stored, 'calm')).toEqual({ matches: true, outdated: true });
  });

  it.each([
    '',
    'secret',
    '$scrypt$ln=31,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=0,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$2b$12$abcdefghijklmnopqrstuv',
  ])('a password hash in a foreign form (%j) matches nothing', async (stored) => {
    expect(parseStored(stored)).toBeNull();
    expect(await open().check('', stored, 'calm')).toMatchObject({ matches: false });
  });

  it('the password of a user who does not exist matches nothing', async () => {
    expect(await open().check('anything', null, 'calm')).toMatchObject({ matches: false });
  });
});

describe('checking passwords', () => {
  it('checking passwords does not block the event loop', async () => {
    const hasher = open({ ...DEFAULT_COST, p: 1 });
    await hasher.check('warm up', null, 'calm');
    let turns = 0;
    const watch = setInterval(() => turns++, 1);
    await hasher.check('guess', null, 'calm');
    clearInterval(watch);
    expect(turns).toBeGreaterThan(2);
  });

  it('the queue of password checks takes known callers first, then calm ones, and refuses the others', async () => {
    const hasher = open({ logN: 12, r: 8, p: 1 });
    const order: string[] = [];
    const ask = (who: string, standing: Standing) =>
      hasher.check(who, null, standing).then(() => order.push(who));
    const asked = [ask('first', 'restless'), ask('second', 'restless'), ask('third', 'restless')];
    await expect(ask('one more of a flood', 'restless')).rejects.toMatchObject({
      code: 'attempts-throttled',
      retryAfterSeconds: 2,
    });
    asked.push(ask('a new client', 'calm'), ask('the owner', 'known'));
    await Promise.all(asked);
    expect(order).toEqual(['first', 'the owner', 'a new client', 'second', 'third']);
  });

  it('a password check that gets no turn for a minute and a half is refused, not left without an answer', async () => {
    const clock = createVirtualClock();
    const hasher = open({ logN: 14, r: 8, p: 1 }, clock);
    const first = hasher.check('first', null, 'calm');
    const starved = expect(hasher.check('starved', null, 'restless')).rejects.toMatchObject({
      code: 'attempts-throttled',
      retryAfterSeconds: 2,
    });
    await clock.run(90_000);
    await starved;
    expect(await first).toMatchObject({ matches: false });
    expect(await hasher.check('next', null, 'restless')).toMatchObject({ matches: false });
  });

  it('the queue of password checks ends when it is closed, for waiting callers too', async () => {
    const hasher = open({ logN: 14, r: 8, p: 1 });
    const waiting = [hasher.check('a', null, 'calm'), hasher.check('b', null, 'calm')];
    const ends = Promise.allSettled(waiting);
    await hasher.close();
    expect(await ends).toMatchObject([
      { status: 'rejected', reason: { code: 'stopping' } },
      { status: 'rejected', reason: { code: 'stopping' } },
    ]);
    await expect(hasher.hash('late')).rejects.toMatchObject({ code: 'stopping' });
  });
});
