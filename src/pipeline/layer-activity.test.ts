import { expect, it } from 'vitest';
import { TilewardenError } from '../domain/errors.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import { HostClosed } from '../domain/upstream-status.ts';
import { LayerActivity } from './layer-activity.ts';

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 4, 1, 12);
const rect = { minX: 0, minY: 0, maxX: 3, maxY: 3 };
const set = { layer: 'roads', gridSet: 'g', format: 'image/png', parametersId: null };

function open() {
  const clock = { time: NOON, now: () => clock.time };
  const events = createTileEvents();
  return { clock, events, activity: new LayerActivity(events, clock) };
}

const timeout = new TilewardenError('source-timeout', 'The map source did not answer in time.');

it('the activity of a layer shows when tiles were stored or removed, and not when they were served', () => {
  const { activity, events } = open();
  events.emit({ type: 'served', set, tile: { z: 1, x: 0, y: 0 }, at: NOON });
  expect(activity.of('roads').changedAt).toBeNull();
  events.emit({ type: 'deleted', set, z: 1, rect, at: NOON + 5 });
  events.emit({ type: 'stored', set, parameters: new Map(), z: 1, rect, tiles: 1, bytes: 1, at: NOON + 3 });
  expect(activity.of('roads').changedAt).toBe(NOON + 5);
  events.emit({ type: 'layer-dropped', layer: 'roads', at: NOON + 9 });
  expect(activity.of('roads').changedAt).toBe(NOON + 9);
  expect(activity.of('rivers')).toMatchObject({ changedAt: null, failures: 0, lastFailure: null });
});

it('the activity of a layer counts failures of the last day and keeps the last one, in words', () => {
  const { activity, clock } = open();
  activity.failed('roads', timeout);
  clock.time += 12 * HOUR;
  const upstream = { status: 503, text: 'Down for maintenance', address: null };
  activity.failed('roads', new TilewardenError('source-unavailable', 'It cannot serve now.', { upstream }));
  const message = 'It cannot serve now. HTTP 503.';
  const last = { at: clock.time, reason: 'source-unavailable', message, upstream };
  expect(activity.of('roads')).toMatchObject({ changedAt: null, failures: 2, lastFailure: last });
  clock.time += 13 * HOUR;
  expect(activity.of('roads')).toMatchObject({ failures: 1, lastFailure: last });
  clock.time += 300 * HOUR;
  expect(activity.of('roads')).toMatchObject({ failures: 0, lastFailure: last });
});

it('the failures of a layer count from the start, or for a day at most', () => {
  const { activity, clock } = open();
  clock.time += 2 * HOUR;
  activity.failed('roads', timeout);
  expect(activity.of('roads')).toMatchObject({ failures: 1, failuresSince: NOON });
  expect(activity.of('rivers').failuresSince).toBe(NOON);
  clock.time = NOON + 30 * HOUR;
  expect(activity.of('roads').failuresSince).toBe(NOON + 6 * HOUR);
});

it('the activity of a layer counts no failures that are not its own', () => {
  const { activity } = open();
  activity.failed('roads', new DOMException('All callers have gone.', 'AbortError'));
  activity.failed('roads', new TilewardenError('generation-stale', 'Truncated.'));
  activity.failed('roads', new TilewardenError('stopping', 'The server is stopping.'));
  const cause = new HostClosed('maps.test:80', { until: NOON + 1, reason: 'failing' });
  activity.failed('roads', new TilewardenError('source-busy', 'Left alone.', { cause }));
  expect(activity.of('roads')).toMatchObject({ failures: 0, lastFailure: null });
  activity.failed('roads', new Error('at /srv/maps'));
  expect(activity.of('roads').lastFailure).toMatchObject({ reason: 'unexpected' });
  expect(JSON.stringify(activity.of('roads'))).not.toContain('srv');
});
