import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/e2e/server.ts';
import { author } from '../../test/fixtures/author.ts';
import { eventually } from '../../test/fixtures/eventually.ts';
import { type FaultProxy, openFaultProxy } from '../../test/fixtures/fault-proxy.ts';
import { layerNamed } from '../../test/fixtures/http-app.ts';
import { needs } from '../../test/fixtures/needs.ts';
import { openTestStores, type TestStores } from '../../test/fixtures/pack-stores.ts';
import { sharedS3 } from '../../test/fixtures/shared-services.ts';
import { openDatabaseProxy } from '../../test/fixtures/tcp-proxy.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { openDatabase } from '../db/open-database.ts';
import { exportedPart } from '../export/export-order.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { OutOfReach } from '../lib/out-of-reach.ts';
import { openExports } from './open-exports.ts';

/** Time passes so much faster for the nodes, and in what the database tells them. */
const HASTE = 5;
const clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * HASTE,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / HASTE, signal),
};
const TILES = 4 + 64;

describe('an export of a node', needs('s3'), () => {
  let stores: TestStores;
  beforeAll(async () => {
    stores = await openTestStores();
  });
  afterAll(() => stores.close());

  /** A layer in a store of its own, named alike, whose export takes two parts to upload. */
  async function fillLayer() {
    const name = randomBytes(6).toString('hex');
    const { set } = exportedPart(layerNamed(name), { layer: name });
    const store = await stores.open(name);
    for (const [z, length] of [
      [1, 100],
      [3, 85_000],
    ] as const) {
      const tiles = Array.from({ length: 4 ** z }, (_, i) => {
        return { x: i % 2 ** z, y: Math.floor(i / 2 ** z), bytes: randomBytes(length), createdAt: 1 };
      });
      await store.putMany(set, z, tiles, 0);
    }
    await store.close();
    const bucket = await stores.bucket(name);
    whenOver(() => bucket.close());
    const folder = `${stores.prefix(name)}exports/`;
    /** Of exports in the bucket, whole or not. */
    const kept = async () => [
      ...(await bucket.list(folder, null)).objects,
      ...(await bucket.unfinished(folder)),
    ];
    return { name, kept };
  }

  /** With faults on its ways to the database and to S3. */
  async function openNode(name: string) {
    const s3 = await openFaultProxy((await sharedS3()).endpoint);
    whenOver(() => s3.close());
    const way = await openDatabaseProxy(stores.location);
    whenOver(() => way.close());
    const real = await openDatabase({ location: way.address, clock: systemClock, log: silentLogger });
    whenOver(() => real.close());
    const store = await stores.open(name, { database: real, origin: s3.url, timeoutSeconds: 2 });
    whenOver(() => store.close());
    const bound = { layer: layerNamed(name), store, declared: { store: name } };
    const folder = temporaryFolder();
    const said: string[] = [];
    const say = (_: unknown, text: string) => void said.push(text);
    const exports = await openExports({
      folder,
      database: { ...real, now: async () => HASTE * (await real.now()) },
      catalog: { layer: () => bound as never, stores: () => new Map([[name, store]]) },
      shared: true,
      node: 'a',
      fork: null,
      clock,
      log: { ...silentLogger, warn: say, error: say },
    });
    whenOver(() => exports.close());
    const start = () =>
      exports.start({ layer: name, type: 'mbtiles', gridSet: 'EPSG:900913', zoomStop: 3 }, author('admin'));
    return { exports, start, s3, way, folder, said };
  }

  type Node = Awaited<ReturnType<typeof openNode>>;

  async function over({ exports }: Node, id: string) {
    const seen = await eventually(
      'it is over',
      () => exports.find(id).catch(() => null),
      (found) => found?.document.state === 'done' || found?.document.state === 'failed',
    );
    if (!seen) throw new Error('unreachable');
    return seen;
  }

  /** It is done, can be read, and is all that is kept. */
  async function expectWhole(node: Node, id: string, kept: () => Promise<readonly object[]>): Promise<void> {
    const { document, read } = await over(node, id);
    expect(document).toMatchObject({ state: 'done', tiles: TILES, expected: TILES, reason: null });
    const bytes = await read(0, (document.bytes ?? 0) - 1);
    expect(bytes && (await buffer(bytes)).length).toBe(document.bytes);
    await eventually('nothing else is kept', async () => (await kept()).length === 1);
    expect(readdirSync(node.folder)).toEqual([]);
  }

  function onRequest(s3: FaultProxy, which: RegExp, act: () => void): void {
    s3.watch = (asked) => {
      if (which.test(asked)) act();
    };
  }

  it.each(['refuse', 'fail', 'hang'] as const)(
    'says that it waits when S3 breaks its upload off (%s), then ends it and leaves nothing unfinished',
    async (mode) => {
      const { name, kept } = await fillLayer();
      const node = await openNode(name);
      onRequest(node.s3, /partNumber=2/, () => {
        node.s3.mode = mode;
      });
      const { id } = await node.start();
      await eventually('its upload is broken off', () => node.s3.mode === mode);
      await eventually(
        'it says what it waits for',
        async () => (await node.exports.find(id))?.document,
        (shown) => shown?.state === 'pending' && /^The object store /.test(shown.reason ?? ''),
      );
      expect(await kept()).toHaveLength(1);
      node.s3.watch = () => {};
      node.s3.mode = 'pass';
      await expectWhole(node, id, kept);
    },
  );

  it.each([
    [
      'tiles are read',
      /^GET [^?]+\?x-id=GetObject$/,
      ({ said }: Node) => said.some((text) => /an export waits/.test(text)),
    ],
    ['its file is uploaded', /partNumber=2/, () => true],
  ])(
    'is finished although PostgreSQL goes away while %s, and cannot be listed meanwhile',
    async (...given) => {
      const [, when, isNoticed] = given;
      const { name, kept } = await fillLayer();
      const node = await openNode(name);
      let isAway = false;
      onRequest(node.s3, when, () => {
        isAway = true;
        node.way.cut();
      });
      const { id } = await node.start();
      await eventually('the database is away', () => isAway && isNoticed(node));
      await expect(node.exports.list()).rejects.toBeInstanceOf(OutOfReach);
      node.s3.watch = () => {};
      node.way.mend();
      await expectWhole(node, id, kept);
    },
  );

  it('ends when it is deleted at another node, leaves nothing behind, and can be asked for again', async () => {
    const { name, kept } = await fillLayer();
    const performer = await openNode(name);
    onRequest(performer.s3, /partNumber=2/, () => {
      performer.s3.mode = 'hang';
    });
    const { id } = await performer.start();
    await eventually('it is uploaded', () => performer.s3.mode === 'hang');
    const other = await openNode(name);
    await other.exports.remove(id);
    for (const { exports } of [performer, other]) expect(await exports.find(id)).toBeNull();
    performer.s3.mode = 'pass';
    await eventually('no file is left', () => readdirSync(performer.folder).length === 0);
    await eventually('nothing is kept', async () => (await kept()).length === 0);
    await other.start();
    await expectWhole(other, id, kept);
  });
});
