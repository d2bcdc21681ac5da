import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { messageKind } from './channel.ts';
import { type Child, ChildPool } from './child-pool.ts';
import { silentLogger } from './logger.ts';

const STOP = messageKind('stop');

class FakeProcess extends EventEmitter {
  pid: number | undefined = 1;
  exitCode: number | null = null;
  signalCode: string | null = null;
  readonly sent: string[] = [];

  exit(code: number): void {
    this.exitCode = code;
    this.emit('exit', code, null);
  }

  kill(signal: string): void {
    if (this.exitCode !== null) return;
    this.signalCode = signal;
    this.emit('exit', null, signal);
  }
}

function openPool(begin: (child: Child) => void | Promise<void> = () => {}) {
  const clock = createVirtualClock();
  const forked: FakeProcess[] = [];
  const cleaned: string[] = [];
  const pool = new ChildPool({
    what: 'a worker process',
    fork() {
      const fake = new FakeProcess();
      forked.push(fake);
      const channel = { tell: ({ name }: { name: string }) => fake.sent.push(name) };
      return { process: fake as unknown as ChildProcess, channel: channel as unknown as Child['channel'] };
    },
    begin,
    cleanUp: async ({ number, retired }) => void cleaned.push(`${number} ${retired ? 'stopped' : 'crashed'}`),
    stop: STOP,
    stopTimeoutMs: 5000,
    clock,
    random: () => 0.5,
    log: silentLogger,
  });
  return { pool, clock, forked, cleaned };
}

it('a child that ends is replaced after a pause that doubles, and is short again after a sound life', async () => {
  const { pool, clock, forked, cleaned } = openPool();
  await pool.add();
  for (const pause of [200, 400, 800]) {
    const alive = forked.length;
    forked.at(-1)?.exit(1);
    await clock.run(pause - 1);
    expect(forked).toHaveLength(alive);
    await clock.run(1);
    expect(forked).toHaveLength(alive + 1);
  }
  await clock.run(30_001);
  forked.at(-1)?.exit(1);
  await clock.run(200);
  expect(forked).toHaveLength(5);
  expect(pool.children).toHaveLength(1);
  expect(cleaned).toEqual(['1 crashed', '2 crashed', '3 crashed', '4 crashed']);
});

it('a child that dies at its start is replaced once', async () => {
  let dies = false;
  const { pool, clock, forked } = openPool(async ({ gone }) => {
    if (dies) throw new Error(`it ended at its start${(await gone) ?? ''}`);
  });
  await pool.add();
  dies = true;
  forked[0]?.exit(1);
  await clock.run(200);
  forked[1]?.exit(1);
  dies = false;
  await clock.run(10_000);
  expect(forked).toHaveLength(3);
  expect(pool.children).toHaveLength(1);
});

it('a child that the system cannot start is replaced', async () => {
  const { pool, clock, forked } = openPool();
  pool.keep();
  const [first] = forked;
  if (first) first.pid = undefined;
  first?.emit('error', new Error('spawn EAGAIN'));
  await clock.run(200);
  expect(forked).toHaveLength(2);
});

it('a pool asks its children to stop, kills those that do not, and replaces none', async () => {
  const { pool, clock, forked, cleaned } = openPool();
  await pool.add();
  await pool.add();
  const closed = pool.close();
  forked[0]?.exit(0);
  await clock.run(5000);
  await closed;
  expect(forked.map(({ sent, signalCode }) => [sent, signalCode])).toEqual([
    [['stop'], null],
    [['stop'], 'SIGKILL'],
  ]);
  await clock.run(60_000);
  expect(forked).toHaveLength(2);
  expect(cleaned).toEqual(['1 stopped', '2 stopped']);
});

it('a first child that cannot start fails the call that adds it, and is ended', async () => {
  const { pool, clock, forked } = openPool(() => Promise.reject(new Error('the port is taken')));
  await expect(pool.add()).rejects.toThrow('the port is taken');
  expect(forked[0]?.signalCode).toBe('SIGKILL');
  await clock.run(60_000);
  expect(forked).toHaveLength(1);
});
