import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { started } from '../../../scripts/steps.mjs';
import {
  collect,
  raise,
  recount,
  sortedPages,
  tile,
  tilesIn,
} from '../../../test/contracts/tile-store-tools.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { FROM_SOURCES } from '../../../test/fixtures/processes.ts';
import { openStoreIn } from '../../../test/fixtures/segment-store.ts';
import { copySqlite } from '../../db/sqlite/copy-sqlite.ts';
import { pagesIn } from '../read-tiles.ts';
import type { Store } from '../store.ts';
import { backUpSegments } from './back-up-segments.ts';

const set = { layer: 'shared', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const script = new URL('../../../test/fixtures/segment-store-process.ts', import.meta.url);
const options = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29, segmentBytes: 100_000 };

const folder = mkdtempSync(join(tmpdir(), 'backup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function using(root: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStoreIn(root, options);
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

const backUp = (root: string, target: string, copyIndex = copySqlite) =>
  backUpSegments({ root, target, signal: new AbortController().signal }, copyIndex);

it('every tile of a backup is whole, counted, and no older than the last truncation, while another process writes and compacts', async () => {
  const root = mkdtempSync(join(folder, 'root-'));
  const child = await started(fork(script, [root], { execArgv: FROM_SOURCES }));
  await once(child, 'message');
  await using(root, async (ours) => {
    for (let round = 0; round < inLength(3, 200); round++) {
      const generation = round % 2 === 0 ? 0 : await raise(ours, set.layer, null, { type: 'hide', at: 1 });
      const target = join(folder, `copy-${round}`);
      await backUp(root, target);
      await using(target, async (copy) => {
        const entries = (await collect(tilesIn(copy, set, 8))).filter(({ hidden }) => !hidden);
        for (const { x, y, bytes, createdAt } of entries) {
          expect(createdAt).toBeGreaterThanOrEqual(generation);
          const shown = await copy.get(set, { z: 8, x, y });
          expect(shown?.bytes.toString()).toBe(Buffer.alloc(bytes, `${createdAt};`).toString());
        }
        const { number } = await copy.ticket(set.layer);
        await copy.put(set, 8, [tile(1, 1, 'later')], number);
        expect((await copy.get(set, { z: 8, x: 1, y: 1 }))?.bytes.toString()).toBe('later');
        for (const { number: open } of await copy.marks())
          await copy.mark({ type: 'close', numbers: [open] });
        expect(sortedPages(await collect(pagesIn(copy, { set })))).toEqual(await recount(copy, set));
      });
    }
  });
  const exited = once(child, 'exit');
  child.send('stop');
  expect((await exited)[0]).toBe(0);
});

it('a backup has the tiles of more segments than a process may open files', async () => {
  const root = mkdtempSync(join(folder, 'root-'));
  const layers = Array.from({ length: 150 }, (_, at) => ({ ...set, layer: `layer ${at}` }));
  await using(root, async (store) => {
    for (const own of layers) await store.put(own, 8, [tile(1, 1, own.layer)], 0);
  });
  const source = new URL('back-up-segments.ts', import.meta.url).href;
  const target = join(folder, 'many');
  const tools = `{ root: ${JSON.stringify(root)}, target: ${JSON.stringify(target)}, signal: new AbortController().signal }`;
  const work = `(await import('${source}')).backUpSegments(${tools})`;
  const node = [process.execPath, ...FROM_SOURCES, '--input-type=module', '--eval', `await ${work}`];
  await promisify(execFile)('/bin/sh', ['-c', 'ulimit -n 100; exec "$0" "$@"', ...node]);
  await using(target, async (copy) => {
    for (const own of layers)
      expect((await copy.get(own, { z: 8, x: 1, y: 1 }))?.bytes.toString()).toBe(own.layer);
  });
});

it('a backup begins again when a segment was compacted before its bytes were copied', async () => {
  const root = mkdtempSync(join(folder, 'root-'));
  await using(root, (store) => store.put(set, 8, [tile(1, 1, 'one')], 0).then(() => {}));
  const [file, aside] = [join(root, 'segments', '1', '1.tiles'), join(folder, 'aside')];
  renameSync(file, aside);
  // As if the first copy named a segment that is gone, and the second one those that have its tiles now.
  let copies = 0;
  await backUp(root, join(folder, 'again'), (from, to) => {
    if (++copies === 2) renameSync(aside, file);
    copySqlite(from, to);
  });
  await using(join(folder, 'again'), async (copy) => {
    expect((await copy.get(set, { z: 8, x: 1, y: 1 }))?.bytes.toString()).toBe('one');
  });
});

it('a backup leaves out a segment that the store itself has lost', async () => {
  const root = mkdtempSync(join(folder, 'root-'));
  await using(root, async (store) => {
    await store.put(set, 8, [tile(1, 1, 'one')], 0);
    await store.put({ ...set, layer: 'lost' }, 8, [tile(1, 1, 'two')], 0);
  });
  rmSync(join(root, 'segments', '2'), { recursive: true });
  const target = join(folder, 'without');
  expect(await backUp(root, target)).toMatchObject({ files: 1 });
  expect(readdirSync(join(target, 'segments'))).toEqual(['1', 'tilewarden-store']);
  await using(target, async (copy) => {
    expect((await copy.get(set, { z: 8, x: 1, y: 1 }))?.bytes.toString()).toBe('one');
    expect(await copy.get({ ...set, layer: 'lost' }, { z: 8, x: 1, y: 1 })).toBeNull();
  });
});
