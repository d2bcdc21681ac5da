import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { eventually } from '../fixtures/eventually.ts';
import { openMockWeather } from '../fixtures/mock-sources.ts';
import { createPostgresDatabase } from '../fixtures/shared-services.ts';
import { openServer } from './server-in-process.ts';

const layerOf = (url: string, parameter: string, more = '') => `
layers:
  - name: radar
    source: { type: wms, url: '${url}', layers: rain${more} }
    gridSets: [{ name: EPSG:900913, zoomStop: 3 }]
    metatile: [2, 2]
    parameters: [{ name: TIME, type: time, default: latest, ${parameter} }]
`;

interface Feed {
  readonly type: string;
  readonly state: string;
  readonly layers: readonly string[];
  readonly lastError: string | null;
}

type Opened = Awaited<ReturnType<typeof openServer>>;

async function api<Answer>({ url, authorization }: Opened, path: string): Promise<Answer> {
  const answer = await fetch(`${url}/api/v1/${path}`, { headers: { authorization } });
  return (await answer.json()) as Answer;
}

interface Times {
  readonly default: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

const timesOf = async (server: Opened) =>
  (await api<{ times: Times | null }>(server, 'layers/radar')).times ?? { count: 0, last: '', default: '' };
const feedOf = async (server: Opened) =>
  (await api<{ changes: Feed[] }>(server, 'changes')).changes.find(({ type }) => type === 'times');
const tile = ({ url }: Opened, query: string) => fetch(`${url}/tiles/radar/1/0/0.png?${query}`);

it.each(['1.1.1', '1.3.0'])(
  'times follow the capabilities of a WMS %s, with its intervals',
  async (version) => {
    const weather = await openMockWeather();
    weather.publish(['2026-01-03T12:00:00Z', '2026-01-01/2026-01-02/P1D']);
    const server = await openServer({
      config: layerOf(weather.url, 'from: capabilities, every: 1', `, version: ${version}`),
    });
    await eventually(
      'the times are listed',
      () => timesOf(server),
      ({ count }) => count === 3,
    );
    expect((await tile(server, 'TIME=2026-01-02T00:00Z')).status).toBe(200);
    expect((await tile(server, 'TIME=2026-01-04')).status).toBe(400);
    weather.publish(['2026-01-03T12:00:00Z', '2026-01-04']);
    await eventually(
      'the next time is listed',
      () => timesOf(server),
      ({ last }) => last === '2026-01-04',
    );
    expect((await tile(server, 'TIME=2026-01-04')).status).toBe(200);
    expect((await tile(server, 'TIME=2026-01-02')).status).toBe(400);
    expect((await tile(server, '')).status).toBe(200);
    expect(weather.maps()).toEqual(['2026-01-02', '2026-01-04']);
    const document = await fetch(`${server.url}/service/wms?REQUEST=GetCapabilities&SERVICE=WMS`);
    expect(await document.text()).toContain('>2026-01-03T12:00:00Z,2026-01-04</Dimension>');
    expect(await feedOf(server)).toMatchObject({ state: 'ok', layers: ['radar'], lastError: null });
  },
);

it('the last known times stay while their source fails, or lists nothing, and after a restart', async () => {
  const weather = await openMockWeather();
  const config = layerOf(weather.url, 'from: capabilities, every: 1');
  const expectedLog = /change feed is failing/;
  const first = await openServer({ config, expectedLog });
  const failing = async (server: Opened, message: RegExp) => {
    const feed = await eventually(
      'the feed is failing',
      () => feedOf(server),
      (shown) => shown?.state === 'failing' && message.test(shown.lastError ?? ''),
    );
    expect(feed?.layers).toEqual(['radar']);
  };
  await failing(first, /no dimension TIME of layer rain/);
  const early = await tile(first, '');
  expect([early.status, early.headers.get('retry-after')]).toEqual([502, '5']);
  const wms = '/service/wms?REQUEST=GetMap&VERSION=1.1.1&LAYERS=radar&STYLES=&FORMAT=image/png';
  const map = await fetch(`${first.url}${wms}&SRS=EPSG:3857&BBOX=0,0,10018754,10018754&WIDTH=256&HEIGHT=256`);
  expect(map.status).toBe(502);

  weather.publish(['2026-01-01', '2026-01-02']);
  await eventually(
    'the times are listed',
    () => timesOf(first),
    ({ count }) => count === 2,
  );
  for (const fault of [() => weather.publish(['yesterday']), () => weather.publish([])]) {
    fault();
    await failing(first, /yesterday|no dimension/);
    expect(await timesOf(first)).toMatchObject({ count: 2, last: '2026-01-02' });
  }
  weather.fails = true;
  await failing(first, /source/);
  await first.stop();

  const second = await openServer({ config, data: first.data, expectedLog });
  expect(await timesOf(second)).toMatchObject({ count: 2, default: '2026-01-02' });
  expect((await tile(second, '')).status).toBe(200);
  await second.stop();
});

it('times follow a query of PostgreSQL, in any type that is a time, and stay while it fails', async () => {
  const weather = await openMockWeather();
  const location = await createPostgresDatabase();
  const database = await openDatabase({
    location,
    clock: systemClock,
    log: silentLogger,
    migrations: null,
  });
  await sql`create table runs (at timestamptz)`.execute(database.change);
  const publish = (at: string) => sql`insert into runs values (${at})`.execute(database.change);
  await publish('2026-01-01T06:00:00+02:00');
  const from = `from: { postgres: { url: '${location}', query: 'select at from runs order by at;' } }, every: 1`;
  const server = await openServer({ config: layerOf(weather.url, from) });
  await eventually(
    'the time is listed',
    () => timesOf(server),
    ({ last }) => last === '2026-01-01T04:00:00Z',
  );
  await publish('2026-01-01T12:30:00Z');
  await eventually(
    'the next time is listed',
    () => timesOf(server),
    ({ last }) => last === '2026-01-01T12:30:00Z',
  );
  expect((await tile(server, 'TIME=2026-01-01T12:30:00Z')).status).toBe(200);
  await sql`drop table runs`.execute(database.change);
  await database.close();
  const failing = await eventually(
    'the feed is failing',
    () => feedOf(server),
    (feed) => feed?.state === 'failing',
  );
  expect(failing?.lastError).toContain('runs');
  expect(failing?.lastError).not.toContain('postgres://');
  expect(await timesOf(server)).toMatchObject({ count: 2 });
});

it('a layer that gets another source does not show the times of the former one', async () => {
  const [former, next] = [await openMockWeather(), await openMockWeather()];
  former.publish(['2026-01-01']);
  const first = await openServer({ config: layerOf(former.url, 'from: capabilities, every: 1') });
  await eventually(
    'the times are listed',
    () => timesOf(first),
    ({ count }) => count === 1,
  );
  await first.stop();
  next.fails = true;
  const config = layerOf(next.url, 'from: capabilities, every: 1');
  const second = await openServer({ config, data: first.data, expectedLog: /change feed is failing/ });
  expect((await tile(second, 'TIME=2026-01-01')).status).toBe(502);
  await second.stop();
});
