import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { describeOnObjectStores } from '../../../test/fixtures/pack-stores.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { createObjectFiles } from './object-files.ts';

describeOnObjectStores('files', (_, stores) => {
  async function openFiles() {
    const bucket = await stores().bucket('files');
    whenOver(() => bucket.close());
    const prefix = stores().prefix('files');
    return { bucket, prefix, files: createObjectFiles(bucket, prefix) };
  }

  function largeFile() {
    const folder = mkdtempSync(join(tmpdir(), 'tilewarden-files-'));
    whenOver(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'large');
    const bytes = randomBytes(12_345_678);
    writeFileSync(path, bytes);
    return { path, bytes };
  }

  it('files of an object store are sent and read piece by piece, whole and in part, and are gone when they are removed', async () => {
    const { files } = await openFiles();
    const { path, bytes } = largeFile();
    await files.put('7.mbtiles', path, new AbortController().signal);
    expect(existsSync(path)).toBe(false);
    const read = async (start: number, end: number) => {
      const found = await files.read('7.mbtiles', start, end);
      return found && buffer(found);
    };
    expect((await read(0, bytes.length - 1))?.equals(bytes)).toBe(true);
    expect((await read(4_999_999, 11_000_001))?.equals(bytes.subarray(4_999_999, 11_000_002))).toBe(true);
    expect(await files.names()).toEqual(['7.mbtiles']);
    await files.remove(['7.mbtiles', '8.mbtiles']);
    expect(await read(0, 9)).toBeNull();
    expect(await files.names()).toEqual([]);
  });

  it('files of an object store are named before they are whole, and what was sent of them is removed too', async () => {
    const { bucket, prefix, files } = await openFiles();
    const gone = new AbortController();
    const put: typeof bucket.put = async (key, bytes) => {
      await bucket.put(key, bytes);
      gone.abort(new Error('the sender is gone'));
    };
    const breaking = createObjectFiles({ ...bucket, put }, prefix);
    await expect(breaking.put('9.gpkg', largeFile().path, gone.signal)).rejects.toThrow('the sender is gone');
    expect(await files.read('9.gpkg', 0, 9)).toBeNull();
    expect(await files.read('9.gpkg', 12_000_000, 12_000_009)).toBeNull();
    expect(await files.names()).toEqual(['9.gpkg']);
    await files.remove(['9.gpkg']);
    expect(await files.names()).toEqual([]);
  });
});
