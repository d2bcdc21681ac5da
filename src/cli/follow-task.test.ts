import { describe, expect, it } from 'vitest';
import type { Clock } from '../lib/clock.ts';
import { followTask, type TaskDocument } from './follow-task.ts';
import { type ServerClient, ServerRefusal, ServerUnreachable } from './server-client.ts';

const PENDING = {
  id: 7,
  layer: 'world',
  type: 'seed',
  state: 'pending',
  tilesProcessed: 0,
  tilesTotal: 10,
  secondsRemaining: -1,
  tilesPerSecond: 0,
  reason: null,
  gridSet: 'EPSG:900913',
  format: 'image/png',
  parameters: {},
  zoomStart: 0,
  zoomStop: 1,
  threadCount: 1,
  counters: { made: 0, present: 0, removed: 0, blank: 0, failed: 0, bytes: 0, upstreamRequests: 0 },
  errors: [],
  createdBy: 'anna',
  createdAt: '2026-01-31T12:00:00.000Z',
  startedAt: null,
  endedAt: null,
} as unknown as TaskDocument;
const RUNNING: TaskDocument = { ...PENDING, state: 'running', tilesProcessed: 5 };
const DONE: TaskDocument = { ...PENDING, state: 'done', tilesProcessed: 10 };

/** Follows a task whose server gives these answers one after another. */
async function follow(
  answers: readonly (TaskDocument | Error)[],
  setting: { columns?: number; json?: boolean } = {},
) {
  let [out, err, now, polls] = ['', '', 0, 0];
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    async sleep(ms) {
      now += ms;
    },
  };
  const client: ServerClient = {
    server: 'http://127.0.0.1:8080',
    async get() {
      const answer = answers[Math.min(polls++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer;
    },
    post: () => Promise.reject(new Error('nothing is sent while watching')),
    put: () => Promise.reject(new Error('nothing is sent while watching')),
  };
  const terminal = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
    columns: setting.columns ?? null,
  };
  const { signal } = new AbortController();
  const options = { client, terminal, clock, json: setting.json ?? false, signal };
  const code = await followTask(PENDING, options).catch((error: Error) => error.message);
  return { code, out, err };
}

describe('watching a task', () => {
  it('watching a task prints plain lines without a terminal, and not at every poll', async () => {
    const busy = Array.from({ length: 40 }, (_, index) => ({ ...RUNNING, tilesPerSecond: index + 1 }));
    const { code, out, err } = await follow([...busy, DONE]);
    expect([code, err]).toEqual([0, '']);
    expect(out.split('\n').length).toBeLessThan(10);
    expect(out).toMatch(/^Task 7: 0 of 10 tiles · waiting\nTask 7: 5 of 10 tiles · /);
    expect(out).toContain('Task 7, seed world, is done\n  10 of 10 tiles');
  });

  it('watching a task draws over one line of a terminal and leaves only the outcome', async () => {
    const { out, err } = await follow([RUNNING, DONE], { columns: 100 });
    expect(err).not.toContain('\n');
    expect(err.split('\r\u001b[K').length).toBeGreaterThan(3);
    expect(err.endsWith('\r\u001b[K')).toBe(true);
    expect(out).toMatch(/^Task 7, seed world, is done\n/);
  });

  it('watching a task prints every change as a line of JSON for scripts', async () => {
    const { out } = await follow([RUNNING, RUNNING, DONE], { json: true, columns: 100 });
    const states = out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as TaskDocument).state);
    expect(states).toEqual(['pending', 'running', 'done']);
  });

  it('watching a task ends with 1 when the task is aborted', async () => {
    expect((await follow([{ ...DONE, state: 'aborted', reason: 'stopped by anna' }])).code).toBe(1);
  });

  it('watching a task waits for a server that restarts, and reports it once', async () => {
    const away = new ServerUnreachable('no answer');
    const stopping = new ServerRefusal(503, 'The server is stopping.');
    const { code, err } = await follow([stopping, away, away, RUNNING, DONE]);
    expect(code).toBe(0);
    expect(err).toBe(
      'The server at http://127.0.0.1:8080 does not answer now; still trying. Tasks survive its restart.\n',
    );
  });

  it('watching a task gives up on a server that stays away, and immediately on one that refuses', async () => {
    expect((await follow([new ServerUnreachable('It cannot be reached.')])).code).toBe(
      'It cannot be reached.',
    );
    expect((await follow([new ServerRefusal(401, 'Who?')])).code).toBe('Who?');
  });
});
