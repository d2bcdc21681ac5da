import { describe, expect, it } from 'vitest';
import { outcomeText, progressBar, progressFacts, type TaskDocument } from './follow-task.ts';
import { withLocalTimes } from './format.ts';
import { describeTask, taskTable } from './tasks.ts';

const running = {
  id: 7,
  layer: 'world',
  type: 'seed',
  state: 'running',
  tilesProcessed: 2340,
  tilesTotal: 5461,
  secondsRemaining: 70,
  tilesPerSecond: 310.4,
  reason: null,
  gridSet: 'EPSG:900913',
  format: 'image/png',
  parameters: { STYLES: 'dark' },
  zoomStart: 0,
  zoomStop: 6,
  threadCount: 2,
  counters: {
    made: 2300,
    present: 40,
    removed: 0,
    blank: 12,
    failed: 3,
    bytes: 3_500_000,
    upstreamRequests: 150,
  },
  errors: [
    {
      at: '2026-01-31T12:00:05.000Z',
      z: 6,
      x: 8,
      y: 4,
      message: 'The map server reported an error.',
      upstream: { status: 200, text: 'out of memory', address: 'http://maps.test/wms?LAYERS=roads' },
    },
  ],
  createdBy: 'anna',
  createdAt: '2026-01-31T12:00:00.000Z',
  startedAt: '2026-01-31T12:00:00.000Z',
  endedAt: null,
} as unknown as TaskDocument;

describe('the progress of a task', () => {
  it('the progress of a task is a bar with tiles, rate, time left and failures, no wider than the terminal', () => {
    expect(progressBar(running, 110)).toBe(
      'seed world ████████████░░░░░░░░░░░░░░░░░░  42 %  2,340 of 5,461 tiles · 310/s · 1 min 10 s left · 3 failed',
    );
    for (const columns of [20, 60, 80, 100, 200]) {
      expect(progressBar(running, columns).length).toBeLessThan(columns);
    }
    expect(progressBar(running, 60)).toMatch(/^42 % {2}2,340 of 5,461 tiles/);
  });

  it('the progress of a task is full at the end, also of a task without tiles', () => {
    const done = { ...running, tilesProcessed: 0, tilesTotal: 0, state: 'done' } as const;
    expect(progressBar(done, 120)).toContain('100 %');
    expect(progressBar(done, 120)).not.toContain('░');
  });

  it('the progress of a waiting task names what it waits for', () => {
    const paused = { ...running, state: 'paused', tilesPerSecond: 0 } as const;
    expect(progressBar(paused, 60)).toContain('paused');
    const pending = { ...running, state: 'pending', reason: 'no thread is free' } as const;
    expect(describeTask(pending)).toContain('waiting (no thread is free)');
  });

  it('the progress of a waiting task shows until when in local time, once', () => {
    const reason = 'host maps.test:80 is failing (HTTP 503); paused until 2026-01-31T12:00:00.000Z';
    expect(withLocalTimes(reason, 'Europe/Berlin')).toMatch(/; paused until 2026-01-31 13:00:00$/);
    const described = describeTask({ ...running, reason });
    expect(described).not.toContain('12:00:00.000Z');
    expect(described.split('HTTP 503')).toHaveLength(2);
  });
});

describe('the end of a task', () => {
  it('the end of a task shows what was done, how long it took, what failed and what to do about it', () => {
    const done = {
      ...running,
      state: 'done',
      tilesProcessed: 5461,
      endedAt: '2026-01-31T12:01:30.000Z',
    } as const;
    expect(outcomeText(done)).toBe(
      [
        'Task 7, seed world, is done',
        '  5,461 of 5,461 tiles · 2,300 created · 40 already cached · 12 blank · 3.3 MiB · 150 upstream requests · 3 failed · in 1 min 30 s',
        '  failed at 6/8/4: The map server reported an error.',
        '    the map server answered: out of memory',
        '    http://maps.test/wms?LAYERS=roads',
        '  Retry the failed tiles: tilewarden tasks retry 7',
      ].join('\n'),
    );
  });

  it('a truncation counts the tiles it has deleted, not those of its area', () => {
    const task = {
      ...running,
      type: 'truncate',
      tilesTotal: 22_369_536,
      counters: { ...running.counters, removed: 5376, failed: 0 },
    } as const;
    expect(progressFacts(task)).toMatch(/^5,376 tiles deleted · /);
    expect(outcomeText({ ...task, state: 'done' }).split('\n')[1]).toMatch(
      /^ {2}5,376 tiles deleted · 3\.3 MiB/,
    );
    expect(taskTable([task])).not.toContain('22,369,536');
  });

  it.each([
    ['stopped', 'stopped by anna', 'was stopped by anna'],
    ['stopped', 'its hours are over', 'was stopped: its hours are over'],
    ['partial', '3 of 5461 tiles failed', 'ended with failures: 3 of 5461 tiles failed'],
    ['failed', 'host a:80 has been failing', 'failed: host a:80 has been failing'],
    ['failed', null, 'failed: reason unknown'],
  ] as const)('a task that ended %s because "%s" %s', (outcome, reason, text) => {
    const ended = { ...running, state: 'aborted', outcome, reason } as const;
    expect(outcomeText(ended).split('\n')[0]).toBe(`Task 7, seed world, ${text}`);
  });
});

describe('the list of tasks', () => {
  it('the list of tasks has the outcome of finished tasks in the words of the console', () => {
    const rows = (['ok', 'stopped', 'partial', 'failed'] as const).map(
      (outcome) =>
        taskTable([{ ...running, state: outcome === 'ok' ? 'done' : 'aborted', outcome }]).split('\n')[1],
    );
    expect(rows.map((row) => row?.split(/ {2,}/)[3])).toEqual(['done', 'stopped', 'partly failed', 'failed']);
  });

  it('the list of tasks has a row for each, its numbers under each other', () => {
    const other = { ...running, id: 12, layer: 'topp:states', tilesTotal: 5, tilesProcessed: 5 };
    expect(taskTable([running, other]).trimEnd().split('\n')).toEqual([
      'ID  LAYER        TYPE  STATE    TILES  TOTAL  FAILED        LEFT  STARTED BY',
      ' 7  world        seed  running  2,340  5,461       3  1 min 10 s  anna',
      '12  topp:states  seed  running      5      5       3  1 min 10 s  anna',
    ]);
  });
});
