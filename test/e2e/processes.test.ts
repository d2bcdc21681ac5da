import { readdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { childrenOf, isAlive } from '../fixtures/processes.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { askWho, basicOf } from '../security/login-flood.ts';
import { rawRequest } from '../security/raw-request.ts';
import { expectCleanLog, type RunningServer, startServer } from './server.ts';
import { openServer } from './server-in-process.ts';

const PROCESSES = 3;
/** One that is killed while it starts is tried again; pieces of its workers go to others. */
const REPLACED =
  /another one is started|a worker stopped responding|does not respond|could not be started; retrying/;

const EXPECTED = new RegExp(`${REPLACED.source}|settings cannot be used`);

/** One server for all tests: its processes take long to start. */
let wms: MockWms;
let server: RunningServer;
const config = join(temporaryFolder(), 'tilewarden.yaml');
const configure = (...layers: readonly string[]) => writeFileSync(config, configOf(...layers));

beforeAll(async () => {
  wms = await openMockWms();
  configure('map');
  const args = ['--processes', String(PROCESSES), '--config', config];
  server = await startServer({ args });
});
afterAll(() => wms.close());

function configOf(...layers: readonly string[]): string {
  const declared = layers.map(
    (name) =>
      `  - { name: ${name}, source: { type: wms, url: '${wms.url}', layers: a }, gridSets: [{ name: EPSG:900913, zoomStop: 6 }], metatile: [4, 4] }`,
  );
  return `upstreams: { '127.0.0.1': { allowPrivate: true } }\ntasks: { workers: 1 }\nlayers:\n${declared.join('\n')}\n`;
}

/** By a connection of its own, so that the processes take turns. */
async function ask(
  url: string,
  path: string,
): Promise<{ status: number | null; cache: string; text: string }> {
  const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  const { status, text } = await rawRequest(url, head);
  return { status, cache: /^x-cache: (\w+)/im.exec(text)?.[1] ?? '', text };
}

function admin({ url, authorization }: RunningServer, path: string, init: RequestInit = {}) {
  return fetch(url + path, { ...init, headers: { authorization, ...init.headers } });
}

/** By a connection of its own: a process that is stopped takes none. */
function change(method: string, path: string, body = '') {
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${server.authorization}\r\nConnection: close`;
  const type = body === '' ? '' : '\r\nContent-Type: application/json';
  return rawRequest(
    server.url,
    `${head}${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** By a connection of its own. */
function truncate({ url, authorization }: RunningServer, layer: string) {
  const body = `<truncateLayer><layerName>${layer}</layerName></truncateLayer>`;
  const head = `POST /masstruncate HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nConnection: close`;
  return rawRequest(
    url,
    `${head}\r\nContent-Type: text/xml\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

/** The processes that answer, by their ids. */
function processesOf({ pid }: RunningServer): readonly number[] {
  return childrenOf(pid, ' server-process');
}

/** Kept connections, so many that every process has some; each has answered this tile. */
async function connectionsToAll(path: string): Promise<readonly Agent[]> {
  const agents = Array.from({ length: 8 * PROCESSES }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  for (const agent of agents) await askOn(agent, path);
  return agents;
}

/** By a connection that stays. */
function askOn(agent: Agent, path: string): Promise<{ readonly cache: string; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const request = get(server.url + path, { agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const cache = String(response.headers['x-cache']);
        resolve({ cache, body: Buffer.concat(chunks).toString('base64') });
      });
      response.once('error', reject);
    });
    request.once('error', reject);
  });
}

const CALLERS = 12;
/** Milliseconds. Without it the callers take the processors from the processes that start. */
const CALLER_PAUSE = 50;

/** Requests a tile on several connections until `stop`; counts responses other than 200 as failed. */
function openLoad(url: string, keepAlive = true) {
  const tally = { answered: 0, failed: [] as { readonly caller: number; readonly reason: string }[] };
  let stopped = false;
  const once = (caller: number, agent: Agent) =>
    new Promise<void>((resolve) => {
      const request = get(url, { agent }, (response) => {
        response.resume();
        response.once('end', () => {
          if (response.statusCode === 200) tally.answered++;
          else tally.failed.push({ caller, reason: `status ${response.statusCode}` });
          resolve();
        });
        response.once('error', (error) => fail(error));
      });
      const fail = (error: Error) => {
        tally.failed.push({ caller, reason: String(error) });
        resolve();
      };
      request.once('error', fail);
    });
  const call = async (caller: number) => {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    for (; !stopped; await pause(CALLER_PAUSE)) await once(caller, agent);
    agent.destroy();
  };
  const callers = Array.from({ length: CALLERS }, (_, caller) => call(caller));
  return {
    tally,
    async stop() {
      stopped = true;
      await Promise.all(callers);
    },
  };
}

async function answerMore(load: ReturnType<typeof openLoad>, count: number): Promise<void> {
  const enough = load.tally.answered + count;
  await eventually(
    'more is answered',
    () => load.tally.answered,
    (answered) => answered >= enough,
  );
}

describe('a server with several processes', () => {
  it('a server with several processes reports readiness once, when all of them listen', () => {
    expect(server.stdout().match(/is ready at/g)).toHaveLength(1);
    expect(processesOf(server)).toHaveLength(PROCESSES);
  });

  it('a metatile requested from several processes is fetched once from the source', async () => {
    wms.reset();
    wms.answer = 'hang';
    const asked = Array.from({ length: 30 }, (_, i) => ask(server.url, `/tiles/map/4/${i % 4}/${i % 3}.png`));
    await eventually('the source is asked', () => wms.requests.length);
    wms.answer = 'good';
    wms.release();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(wms.requests).toHaveLength(1);
  });

  it('no process serves a truncated tile', async () => {
    const path = '/tiles/map/5/1/1.png';
    for (let round = 0; round < 3; round++) {
      await ask(server.url, path);
      for (let i = 0; i < 2 * PROCESSES; i++) expect((await ask(server.url, path)).cache).toBe('HIT');
      wms.version = round + 2;
      expect((await truncate(server, 'map')).status).toBe(200);
      expect((await ask(server.url, path)).cache).toBe('MISS');
    }
  });

  it('a declared layer is served by all processes immediately, and a deleted one by none', async () => {
    const document = {
      source: { type: 'layer', layer: 'map' },
      gridSets: [{ name: 'EPSG:900913', zoomStop: 3 }],
    };
    const change = (method: string, path: string, body?: object) =>
      admin(server, path, {
        method,
        ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
    const statuses = async () => {
      const path = '/tiles/later/2/1/1.png';
      return await Promise.all(Array.from({ length: 2 * PROCESSES }, () => ask(server.url, path)));
    };
    expect((await change('PUT', '/api/v1/layers/later', document)).status).toBe(201);
    expect((await statuses()).map(({ status }) => status)).toEqual(Array(2 * PROCESSES).fill(200));
    const seed = await change('POST', '/api/v1/tasks', { layer: 'later', type: 'seed' });
    const { id } = (await seed.json()) as { id: number };
    const task = async () => (await (await change('GET', `/api/v1/tasks/${id}`)).json()) as { state: string };
    await eventually('the task is over', task, ({ state }) => state === 'done');
    expect((await change('DELETE', '/api/v1/layers/later')).status).toBe(204);
    expect((await statuses()).map(({ status }) => status)).toEqual(Array(2 * PROCESSES).fill(404));
  });

  it('a changed description of the service is shown by all processes immediately', async () => {
    const path = '/service/wms?REQUEST=GetCapabilities';
    const agents = await connectionsToAll(path);
    const body = '<global><serviceInformation><title>Renamed</title></serviceInformation></global>';
    const headers = { 'content-type': 'application/xml' };
    expect((await admin(server, '/rest/global.xml', { method: 'PUT', headers, body })).status).toBe(200);
    const shown = await Promise.all(agents.map((agent) => askOn(agent, path)));
    const titles = shown.map((answer) =>
      Buffer.from(answer.body, 'base64').includes('<Title>Renamed</Title>'),
    );
    expect(titles).toEqual(agents.map(() => true));
  });

  it('a process that was stopped during a truncation serves no truncated tile when it goes on', async () => {
    const path = '/tiles/map/5/9/9.png';
    const agents = await connectionsToAll(path);
    const { body: old } = await askOn(agents[0] ?? new Agent(), path);
    const [stuck = 0] = processesOf(server);
    process.kill(stuck, 'SIGSTOP');
    wms.version += 1;
    expect((await truncate(server, 'map')).status).toBe(200);
    process.kill(stuck, 'SIGCONT');
    const answers = await Promise.all(agents.map((agent) => askOn(agent, path)));
    expect(answers.map(({ body }) => body)).not.toContain(old);
    for (const agent of agents) agent.destroy();
    expect(processesOf(server)).toContain(stuck);
  });

  it('a process that hangs is ended before a declaration is acknowledged', async () => {
    const [stuck = 0] = processesOf(server);
    process.kill(stuck, 'SIGSTOP');
    const body = JSON.stringify({
      source: { type: 'layer', layer: 'map' },
      gridSets: [{ name: 'EPSG:900913' }],
    });
    expect((await change('PUT', '/api/v1/layers/late', body)).status).toBe(201);
    expect(isAlive(stuck)).toBe(false);
    await eventually('another takes its place', () => processesOf(server).length === PROCESSES);
    expect((await change('DELETE', '/api/v1/layers/late')).status).toBe(204);
  });

  it('every connection is answered while one of several processes hangs', async () => {
    const path = '/tiles/map/3/1/1.png';
    await ask(server.url, path);
    const [stuck = 0] = processesOf(server);
    process.kill(stuck, 'SIGSTOP');
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask(server.url, path)));
    process.kill(stuck, 'SIGCONT');
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it('every process serves the same documents about layers', async () => {
    const addresses = [
      '/service/wmts?REQUEST=GetCapabilities',
      '/service/wmts/rest/WMTSCapabilities.xml',
      '/service/tms/1.0.0',
      '/ogc/collections/map',
      '/tiles.json',
      '/tiles/map.json',
      '/service/wms?REQUEST=GetCapabilities',
    ];
    for (const address of addresses) {
      const answers = await Promise.all(
        Array.from({ length: 2 * PROCESSES }, () => fetch(server.url + address).then((got) => got.text())),
      );
      expect(new Set(answers).size).toBe(1);
      expect(answers[0]).toContain('map');
    }
    const info = 'REQUEST=GetFeatureInfo&LAYER=map&FORMAT=image/png&TILEMATRIXSET=EPSG:900913';
    const asked = `/service/wmts?${info}&TILEMATRIX=EPSG:900913:3&TILEROW=1&TILECOL=1&I=1&J=1`;
    const answer = await fetch(server.url + asked);
    expect(await answer.text()).toContain('Exception');
    expect(answer.status).toBe(501);
  });

  it('every process serves the documentation under every prefix', async () => {
    for (const path of [
      '/docs/',
      '/docs/tasks.html',
      '/geowebcache/docs/docs.css',
      '/docs/images/seed.svg',
    ]) {
      const answers = await Promise.all(Array.from({ length: PROCESSES * 2 }, () => ask(server.url, path)));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    }
    expect((await ask(server.url, '/docs')).text).toMatch(/^location: docs\/\r$/im);
  });

  it('a server with several processes counts every request once', async () => {
    const count = async () => {
      const text = await (await admin(server, '/metrics')).text();
      const series = [...text.matchAll(/^tilewarden_tile_requests_total\{layer="map",.*\} (\d+)$/gm)];
      return series.reduce((sum, [, value]) => sum + Number(value), 0);
    };
    const before = await count();
    await Promise.all(Array.from({ length: 50 }, () => ask(server.url, '/tiles/map/3/1/1.png')));
    expect(await count()).toBe(before + 50);
    expect(await count()).toBe(before + 50);
    const series = (await (await admin(server, '/api/v1/series')).json()) as Record<
      'hits' | 'misses',
      number[]
    >;
    const answered = [...series.hits, ...series.misses].reduce((sum, value) => sum + value, 0);
    expect(answered).toBeGreaterThanOrEqual(50);
  });

  it('every process sends events of a task, and serves no tile that the task replaced', async () => {
    const listening = new AbortController();
    const streams = await Promise.all(
      Array.from({ length: PROCESSES }, () => admin(server, '/api/v1/events', { signal: listening.signal })),
    );
    const path = '/tiles/map/2/1/1.png';
    for (let i = 0; i < 2 * PROCESSES; i++) await ask(server.url, path);
    const old = (await ask(server.url, path)).text.split('\r\n\r\n')[1];
    wms.version += 1;
    const made = await admin(server, '/api/v1/tasks', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ layer: 'map', type: 'reseed', zoomStart: 2, zoomStop: 2 }),
    });
    const { id } = (await made.json()) as { id: number };
    for (const stream of streams) expect(await receives(stream, `"id":${id}`)).toBe(true);
    await eventually('the task is done', async () => {
      const task = await admin(server, `/api/v1/tasks/${id}`);
      return ((await task.json()) as { state: string }).state === 'done';
    });
    listening.abort();
    for (let i = 0; i < 2 * PROCESSES; i++) {
      expect((await ask(server.url, path)).text.split('\r\n\r\n')[1]).not.toBe(old);
    }
  });

  it('an export of a server with several processes can be downloaded and deleted', async () => {
    const order = JSON.stringify({ layer: 'map', type: 'mbtiles', zoomStart: 1, zoomStop: 1 });
    for (const { x, y } of [0, 1].flatMap((x) => [0, 1].map((y) => ({ x, y })))) {
      await ask(server.url, `/tiles/map/1/${x}/${y}.png`);
    }
    await untilStored(server);
    const json = { 'content-type': 'application/json' };
    const created = await admin(server, '/api/v1/exports', { method: 'POST', headers: json, body: order });
    const { id } = (await created.json()) as { id: string };
    const address = `/api/v1/exports/${id}`;
    const done = await eventually(
      'the export is over',
      async () => (await admin(server, address)).json() as Promise<{ state: string; bytes: number }>,
      ({ state }) => state === 'done' || state === 'failed',
    );
    expect(done).toMatchObject({ state: 'done', tiles: 4 });
    const whole = await (await admin(server, `${address}/file`)).arrayBuffer();
    expect(whole.byteLength).toBe(done.bytes);
    const rest = await admin(server, `${address}/file`, { headers: { range: 'bytes=1000-' } });
    expect([rest.status, Buffer.from(await rest.arrayBuffer())]).toEqual([206, Buffer.from(whole, 1000)]);
    expect((await admin(server, address, { method: 'DELETE' })).status).toBe(204);
    expect(readdirSync(join(server.data, 'exports'))).toEqual([]);
  });

  it('wrong passwords are throttled over all processes together', async () => {
    const guess = (_: unknown, i: number) => askWho(server.url, basicOf(`guess ${i}`), '127.0.0.77');
    const statuses: (number | null)[] = [];
    await eventually(
      'all guesses from that address are throttled',
      async () => (await Promise.all(Array.from({ length: 5 }, guess))).map(({ status }) => status),
      (batch) => {
        statuses.push(...batch);
        return batch.every((status) => status === 429);
      },
    );
    // Ten at first, and one more every half a minute; three throttles would let thrice as many through.
    expect(statuses.filter((status) => status === 401).length).toBeLessThan(20);
    expect((await askWho(server.url, basicOf('guess'), '127.0.0.78')).status).toBe(401);
  });

  it('a reader key works in every process until it is deleted, with one count of its limits', async () => {
    const create = async (draft: object) => {
      const body = JSON.stringify({ name: 'portal', layers: ['map'], ...draft });
      const headers = { 'content-type': 'application/json' };
      const made = await admin(server, '/api/v1/keys', { method: 'POST', headers, body });
      return (await made.json()) as { readonly id: number; readonly key: string };
    };
    const statuses = async (key: string, count: number) => {
      const asked = [];
      for (let i = 0; i < count; i++)
        asked.push((await ask(server.url, `/tiles/map/0/0/0.png?key=${key}`)).status);
      return asked;
    };
    const { id, key } = await create({});
    expect(new Set(await statuses(key, 12))).toEqual(new Set([200]));
    const { key: daily } = await create({ requestsPerDay: 7 });
    expect((await statuses(daily, 20)).filter((status) => status === 200)).toHaveLength(7);
    expect(await (await admin(server, '/api/v1/keys')).text()).not.toContain('"lastUsedAt":null');
    expect(await (await admin(server, '/metrics')).text()).toContain(
      `tilewarden_reader_key_requests_total{key="${id}",name="portal",outcome="answered"} 12`,
    );
    await admin(server, `/api/v1/keys/${id}`, { method: 'DELETE' });
    const refused = await statuses(key, 20);
    expect(new Set(refused)).toEqual(new Set([401, 429]));
  });

  it('a server with several processes passes on bodies, rejections and addresses', async () => {
    const large = await admin(server, '/rest/seed/map.json', { method: 'POST', body: ' '.repeat(3_000_000) });
    expect(large.status).toBe(413);
    expect((await fetch(`${server.url}/rest/seed.json`)).status).toBe(401);
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
    const seeded = await admin(server, '/geowebcache/rest/seed/map.json', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ seedRequest: { type: 'truncate', zoomStart: 6, zoomStop: 6 } }),
    });
    expect(seeded.status).toBe(200);
    expect(seeded.headers.get('location')).toMatch(`${server.url}/geowebcache/api/v1/tasks/`);
  });

  it('a process killed under load of kept and new connections is replaced, unnoticed by callers of the others', async () => {
    const url = `${server.url}/tiles/map/3/1/1.png`;
    await ask(server.url, '/tiles/map/3/1/1.png');
    const loads = [openLoad(url), openLoad(url, false)];
    for (const load of loads) await answerMore(load, 50);
    const [victim = 0] = processesOf(server);
    process.kill(victim, 'SIGKILL');
    await eventually('there are as many as before', () => {
      const now = processesOf(server);
      return now.length === PROCESSES && !now.includes(victim);
    });
    for (const load of loads) await answerMore(load, 50);
    for (const load of loads) {
      await load.stop();
      const { failed } = load.tally;
      expect(failed.filter(({ reason }) => !/ECONNRESET|socket hang up|EPIPE/.test(reason))).toEqual([]);
      // A client connected to it loses one request; another process answers the next one.
      expect(new Set(failed.map(({ caller }) => caller)).size).toBe(failed.length);
    }
  });
});

describe('a server of which every process is killed in turn', () => {
  it('a seed is completed, a truncation obeyed and every process replaced when each is killed once', async () => {
    wms.reset();
    const created = await change(
      'POST',
      '/api/v1/tasks',
      JSON.stringify({ layer: 'map', type: 'reseed', zoomStop: 4 }),
    );
    expect(created.status).toBe(201);
    const id = /"id":(\d+)/.exec(created.text)?.[1];
    const path = '/tiles/map/6/60/60.png';
    for (const victim of processesOf(server)) {
      const { body: old } = await askOn(new Agent(), path);
      wms.version += 1;
      process.kill(victim, 'SIGKILL');
      const order = JSON.stringify({ layer: 'map', type: 'truncate', zoomStart: 6, zoomStop: 6 });
      await eventually('the truncation is accepted', async () => {
        const answer = await change('POST', '/api/v1/tasks', order).catch(() => null);
        return answer?.status === 201;
      });
      const answers = await Promise.all(
        Array.from({ length: 2 * PROCESSES }, () => askOn(new Agent(), path)),
      );
      expect(answers.map(({ body }) => body)).not.toContain(old);
      await eventually('it is replaced', () => {
        const now = processesOf(server);
        return now.length === PROCESSES && !now.includes(victim);
      });
    }
    const task = async () => {
      const { text } = await change('GET', `/api/v1/tasks/${id}`);
      return JSON.parse(text.split('\r\n\r\n')[1] ?? '{}') as Record<string, unknown>;
    };
    const done = await eventually(
      'the seed is over',
      task,
      ({ state }) => state === 'done' || state === 'failed',
    );
    expect(done).toMatchObject({ state: 'done', counters: { failed: 0 } });
    expect(done.tilesProcessed).toBe(done.tilesTotal);
  });
});

/** Whether the text comes before the stream ends. */
async function receives(stream: Response, text: string): Promise<boolean> {
  let seen = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream.body ?? []) {
    seen += decoder.decode(chunk as Uint8Array, { stream: true });
    if (seen.includes(text)) return true;
  }
  return false;
}

describe('a server with several processes whose configuration is edited', () => {
  beforeAll(() => wms.reset());

  const statuses = async (layer: string) => {
    const asked = Array.from({ length: 3 * PROCESSES }, () => ask(server.url, `/tiles/${layer}/3/1/1.png`));
    return [...new Set((await Promise.all(asked)).map(({ status }) => status))];
  };

  it('/rest/reload loads a valid configuration file in every process', async () => {
    const reload = () =>
      admin(server, '/rest/reload', {
        method: 'POST',
        body: new URLSearchParams({ reload_configuration: '1' }),
      });
    configure('map', 'other');
    expect((await reload()).status).toBe(200);
    expect(await statuses('other')).toEqual([200]);
    const atOnce = await Promise.all(Array.from({ length: 2 * PROCESSES }, reload));
    expect(atOnce.map(({ status }) => status)).toEqual(atOnce.map(() => 200));
    writeFileSync(config, 'layers: 7\n');
    expect((await reload()).status).toBe(400);
    expect(await statuses('other')).toEqual([200]);
    configure('other', 'third');
    expect((await reload()).status).toBe(200);
    expect(await statuses('map')).toEqual([404]);
  });

  it('SIGHUP loads the configuration file in every process without losing a request', async () => {
    await ask(server.url, '/tiles/third/3/1/1.png');
    const before = processesOf(server);
    const tiles = openLoad(`${server.url}/tiles/third/3/1/1.png`);
    const documents = openLoad(`${server.url}/tiles.json`);
    await answerMore(tiles, 50);
    configure('map', 'third');
    process.kill(server.pid, 'SIGHUP');
    await eventually('every process is a new one', () => {
      const now = processesOf(server);
      return now.length === PROCESSES && now.every((pid) => !before.includes(pid));
    });
    await answerMore(tiles, 50);
    await answerMore(documents, 10);
    await Promise.all([tiles.stop(), documents.stop()]);
    expect([...tiles.tally.failed, ...documents.tally.failed]).toEqual([]);
    await eventually('it is taken up', () => server.stderr().includes('settings reloaded'));
    const all = [await statuses('other'), await statuses('map'), await statuses('third')];
    expect(all).toEqual([[404], [200], [200]]);
  });

  it('SIGHUP with an invalid configuration file changes nothing', async () => {
    const before = processesOf(server);
    writeFileSync(config, 'layers: 7\n');
    process.kill(server.pid, 'SIGHUP');
    await eventually('it says so', () =>
      server.stderr().includes('settings cannot be used; nothing has changed'),
    );
    expect(await statuses('map')).toEqual([200]);
    expect(processesOf(server)).toEqual(before);
  });

  it('a killed primary leaves no process behind, and its port is free', async () => {
    const load = openLoad(`${server.url}/tiles/map/3/1/1.png`);
    await answerMore(load, 20);
    const pids = processesOf(server);
    expectCleanLog(server.stderr(), EXPECTED);
    await server.kill();
    await eventually('all have ended', () => pids.every((pid) => !isAlive(pid)));
    await load.stop();
    const { port } = new URL(server.url);
    configure('map');
    const again = await startServer({ data: server.data, args: ['--config', config, '--port', port] });
    expect((await ask(again.url, '/tiles/map/3/1/1.png')).status).toBe(200);
    expect((await again.stop()).code).toBe(0);
  });

  it('a stop reaches a process that has hardly begun: nothing waits until it is killed', async () => {
    const args = ['--config', config, '--processes', '2'];
    const pair = await startServer({
      args,
      expectedLog: /another one is started|a worker process did not stop in time/,
    });
    const first = processesOf(pair);
    process.kill(first[0] ?? 0, 'SIGKILL');
    await eventually('another one begins', () => processesOf(pair).some((pid) => !first.includes(pid)));
    expect((await pair.stop()).stderr).not.toContain('a process of the server did not stop in time');
  });

  it('a start forgets the places, claims and outages of processes that were killed', async () => {
    const { data, stop } = await openServer();
    await stop();
    const location = join(data, 'tilewarden.db');
    const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
    whenOver(() => database.close());
    const later = { instance: 'killed', expires_at: Date.now() + 86_400_000 };
    const place = { ...later, name: 'host', wanted: 9, urgent: 9, places: 9 };
    const outage = { instance: 'killed', host: 'host', outage: '{}', until: later.expires_at };
    await database.change.insertInto('node_shares').values(place).execute();
    await database.change
      .insertInto('node_flights')
      .values({ ...later, metatile: 'a' })
      .execute();
    await database.change.insertInto('host_outages').values(outage).execute();
    await openServer({ data });
    for (const table of ['node_shares', 'node_flights', 'host_outages'] as const)
      expect(await database.query.selectFrom(table).selectAll().execute()).toEqual([]);
  });
});
