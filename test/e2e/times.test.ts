import { expect, it } from 'vitest';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { openMockWms } from '../fixtures/mock-wms.ts';
import { whenOver } from '../fixtures/when-over.ts';
import { openServer } from './server-in-process.ts';

async function openRadar(parameter: string, more = '') {
  const wms = await openMockWms();
  whenOver(() => wms.close());
  const server = await openServer({
    config: `
maxParameterSets: 2
${more}
layers:
  - name: radar
    source: { type: wms, url: '${wms.url}', layers: radar }
    gridSets: [EPSG:900913]
    metatile: [1, 1]
    formats: [image/png, { type: image/jpeg, quality: 40 }]
    parameters:
      - ${parameter}
      - { name: CQL_FILTER, default: INCLUDE, regex: '[A-Z]+' }
`,
  });
  const tile = (query: string) => fetch(`${server.url}/tiles/radar/2/1/1.png?${query}`);
  const times = () => wms.requests.map(({ parameters }) => parameters.get('TIME'));
  const layer = async () => {
    const answer = await fetch(`${server.url}/api/v1/layers/radar`, {
      headers: { authorization: server.authorization },
    });
    return (await answer.json()) as { times: unknown; parameters: unknown };
  };
  return { wms, server, tile, times, layer };
}

it('listed times are cached each by itself, and maxParameterSets does not bound them', async () => {
  const { tile, times, layer, server } = await openRadar(
    "{ name: TIME, type: time, values: '2026-01-01/2026-01-31/P1D', nearest: true }",
  );
  expect((await layer()).times).toEqual({
    default: '2026-01-31',
    count: 31,
    first: '2026-01-01',
    last: '2026-01-31',
  });
  const asked = ['', 'TIME=current', 'TIME=2026-01-31T00:00:00Z', 'TIME=2026-02-20'];
  for (const [n, query] of asked.entries()) {
    const answer = await tile(query);
    expect([answer.status, answer.headers.get('x-cache')]).toEqual([200, n === 0 ? 'MISS' : 'HIT']);
    expect(answer.headers.get('warning')?.includes('Nearest value used: time=2026-01-31') ?? false).toBe(
      n === 3,
    );
    await answer.arrayBuffer();
    await untilStored(server);
  }
  for (let day = 1; day <= 9; day++) await (await tile(`TIME=2026-01-0${day}`)).arrayBuffer();
  await untilStored(server);
  for (let day = 1; day <= 9; day++) {
    const answer = await tile(`TIME=2026-01-0${day}&CQL_FILTER=INCLUDE`);
    expect(answer.headers.get('x-cache')).toBe('HIT');
  }
  expect(times()).toEqual(['2026-01-31', ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((day) => `2026-01-0${day}`)]);
  // Other parameters are bounded as before, whatever the time.
  const outcomes: (string | null)[] = [];
  for (const value of ['A', 'B', 'C']) {
    for (const day of [1, 2]) {
      const answer = await tile(`TIME=2026-01-0${day}&CQL_FILTER=${value}`);
      outcomes.push(answer.headers.get('x-cache'));
      await answer.arrayBuffer();
      await untilStored(server);
    }
  }
  expect(outcomes).toEqual(['MISS', 'MISS', 'MISS', 'MISS', 'BYPASS', 'BYPASS']);
});

it('a layer with times answers other pictures at other times', async () => {
  const { tile } = await openRadar(
    "{ name: TIME, type: time, values: ['2026-01-01', '2026-01-02T06:00:00Z'] }",
  );
  const pictures = await Promise.all(
    ['TIME=2026-01-01', 'TIME=2026-01-02T06:00:00Z', ''].map(async (query) =>
      Buffer.from(await (await tile(query)).arrayBuffer()).toString('base64'),
    ),
  );
  expect(pictures[0]).not.toBe(pictures[1]);
  expect(pictures[2]).toBe(pictures[1]);
  expect((await tile('TIME=2026-01-02')).status).toBe(400);
});

it('tiles of a time that leaves the window are refused, and gone from usage within a minute', async () => {
  const { server, tile, layer } = await openRadar(
    "{ name: TIME, type: time, values: '2026-01-01T00:00:00Z/now/PT1S', nearest: true, keep: PT6S }",
  );
  const usage = async () => {
    const answer = await fetch(`${server.url}/api/v1/usage`, {
      headers: { authorization: server.authorization },
    });
    const { layers } = (await answer.json()) as { layers: { name: string; tiles: number }[] };
    return layers.find(({ name }) => name === 'radar')?.tiles ?? 0;
  };
  await (await tile('')).arrayBuffer();
  await untilStored(server);
  expect(await usage()).toBe(1);
  expect((await layer()).times).toMatchObject({ count: 7 });
  await eventually('the tile has left the window', usage, (tiles) => tiles === 0);
});
