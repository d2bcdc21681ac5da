import { expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { eventually } from '../../test/fixtures/eventually.ts';
import { openTaskFixture } from '../../test/fixtures/task-fixture.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { createTimeFilter } from '../domain/time-filter.ts';
import { readTimeValues } from '../domain/time-values.ts';
import { silentLogger } from '../lib/logger.ts';
import { createTimeSeeder } from './time-seeds.ts';

const MINUTE = 60_000;

/** A layer with times that a test publishes, and what counts as seeded. */
async function openWeather() {
  let values = readTimeValues(['2026-01-01']);
  let seededUntil: number | null = null;
  const clock = createVirtualClock();
  const filter = createTimeFilter({
    name: 'TIME',
    list: () => ({ values, revision: 0 }),
    defaultValue: 'latest',
    nearest: false,
    keep: null,
    seed: { latest: 3, zoomStop: 1 },
    seededUntil: () => seededUntil,
    now: () => clock.now(),
  });
  const fixture = await openTaskFixture({ layer: { parameters: [filter] } });
  whenOver(() => fixture.close());
  const options = {
    catalog: { layer: () => fixture.harness.tiles.bound, version: 0 },
    layers: () => ['roads'],
    store: {
      async setSeeded(_layer: string, _name: string, until: number) {
        seededUntil = until;
        return true;
      },
    },
    tasks: fixture.service,
    clock,
    log: silentLogger,
  };
  return {
    clock,
    options,
    fixture,
    times: filter.times,
    apply: filter.apply,
    publish(...texts: readonly string[]) {
      values = readTimeValues(texts);
    },
    seeded: () => seededUntil,
    async untilSeeded(look: () => Promise<void>, last: string) {
      await eventually(
        `${last} is listed`,
        async () => {
          await look();
          return filter.times?.summary()?.last;
        },
        (shown) => shown === last && seededUntil === Date.parse(last),
      );
    },
  };
}

it('new times are seeded in their order, each once, and listed when they are', async () => {
  const weather = await openWeather();
  const look = createTimeSeeder(weather.options);
  expect(weather.times?.summary()?.last).toBe('2026-01-01');
  await weather.untilSeeded(look, '2026-01-01');
  weather.fixture.harness.source.answer = ({ signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  weather.publish('2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05');
  await look();
  await look();
  // The latest three; those before them were never listed, and come with them.
  expect(weather.times?.summary()).toMatchObject({ default: '2026-01-01', count: 1 });
  expect(weather.apply('2026-01-04')).toBe('2026-01-04');
  expect(weather.times?.includes('2026-01-05')).toBe(true);
  const states = await weather.fixture.service.list({ limit: 10 });
  expect(states).toHaveLength(4);

  await weather.fixture.service.cancel({ ids: states.map(({ id }) => id) }, 'mary');
  await weather.untilSeeded(look, '2026-01-05');
  expect(weather.times?.summary()).toMatchObject({ default: '2026-01-05', count: 5 });
  expect(await weather.fixture.service.list({ limit: 10 })).toHaveLength(4);
});

it('the first times of a layer are listed while they are seeded, and later ones wait', async () => {
  const weather = await openWeather();
  weather.fixture.harness.source.answer = ({ signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const look = createTimeSeeder(weather.options);
  await look();
  weather.publish('2026-01-01', '2026-01-02');
  await look();
  expect(weather.times?.summary()).toMatchObject({ last: '2026-01-01', count: 1 });
  expect(await weather.fixture.service.list({ limit: 10 })).toHaveLength(2);
});

it('a seeder that dies before it records its tasks, or after that, loses none and makes none twice', async () => {
  const weather = await openWeather();
  weather.publish('2026-01-01', '2026-01-02');
  const dying = {
    ...weather.options,
    tasks: { ...weather.options.tasks, createAll: () => Promise.reject(new Error('killed')) },
  };
  await expect(createTimeSeeder(dying)()).rejects.toThrow('killed');
  expect(weather.seeded()).toBeNull();

  const forgetful = { setSeeded: () => Promise.reject(new Error('killed')) };
  const second = createTimeSeeder({ ...weather.options, store: forgetful });
  await eventually(
    'the tasks are over, but not recorded as such',
    () =>
      second().then(
        () => '',
        (error: Error) => error.message,
      ),
    (message) => message === 'killed',
  );
  expect(weather.seeded()).toBeNull();

  await weather.untilSeeded(createTimeSeeder(weather.options), '2026-01-02');
  expect(await weather.fixture.service.list({ limit: 10 })).toHaveLength(2);
});

it('a time whose seed does not end is listed after ten minutes, and one of a list that went back is seeded again', async () => {
  const weather = await openWeather();
  weather.fixture.harness.source.answer = ({ signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await weather.options.store.setSeeded('roads', 'TIME', Date.parse('2026-01-01'));
  weather.publish('2026-01-01', '2026-01-02');
  // The fixture's tasks have the time of the system.
  const look = createTimeSeeder({
    ...weather.options,
    tasks: {
      ...weather.options.tasks,
      createAll: async (drafts, author) =>
        (await weather.fixture.service.createAll(drafts, author)).map((task) => ({
          ...task,
          createdAt: weather.clock.now(),
        })),
      get: (id) => weather.fixture.service.get(id),
    },
  });
  await look();
  weather.clock.advance(9 * MINUTE);
  await look();
  expect(weather.times?.summary()?.last).toBe('2026-01-01');
  weather.clock.advance(2 * MINUTE);
  await look();
  expect(weather.times?.summary()?.last).toBe('2026-01-02');

  weather.publish('2026-01-01');
  await look();
  expect(weather.seeded()).toBe(Date.parse('2026-01-01'));
});
