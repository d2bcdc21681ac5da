import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { formatOf } from '../../domain/format.ts';
import { openOldFolder } from './rooted-folder.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-old-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
});

function place(path: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  return file;
}

function read(z: number, x: number, y: number, options: { folder?: string; within?: string[] } = {}) {
  const { within = null } = options;
  const cache = openOldFolder(
    { layout: 'xyz', folder: options.folder ?? join(folder, 'old'), gridSet: undefined, within },
    { layer: 'states', gridSet: 'EPSG:900913' },
    { readObject: async () => null },
  );
  const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
  const format = formatOf('image/png');
  if (!gridSet || !format) throw new Error('no such grid set or format');
  return cache.read({ gridSet, format, parameters: null, values: new Map(), tile: { z, x, y } });
}

describe('an adopted folder', () => {
  it('an adopted folder returns a tile with its time, and null for an absent one', async () => {
    const file = place('old/3/2/1.png');
    writeFileSync(file, 'a tile');
    utimesSync(file, 1_000_000, 1_000_000);
    expect(await read(3, 2, 1)).toEqual({ bytes: Buffer.from('a tile'), changedAt: 1_000_000_000 });
    expect(await read(3, 2, 2)).toBeNull();
    expect(await read(4, 2, 2)).toBeNull();
  });

  it('an adopted folder has no tiles in empty files, folders and pipes', async () => {
    writeFileSync(place('old/3/2/1.png'), '');
    mkdirSync(place('old/3/2/2.png'));
    execFileSync('mkfifo', [place('old/3/2/3.png')]);
    writeFileSync(place('old/4'), 'a file where a folder belongs');
    expect([await read(3, 2, 1), await read(3, 2, 2), await read(3, 2, 3), await read(4, 2, 1)]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it('an adopted folder follows links that stay inside, and no others', async () => {
    writeFileSync(place('old/single_color_tiles/ff0000.png'), 'red');
    symlinkSync('../../single_color_tiles/ff0000.png', place('old/3/2/1.png'));
    writeFileSync(place('secret.png'), 'secret');
    symlinkSync('../../../secret.png', place('old/3/2/2.png'));
    symlinkSync(join(folder, 'secret.png'), place('old/3/2/3.png'));
    writeFileSync(place('elsewhere/1.png'), 'secret');
    symlinkSync('../../elsewhere', place('old/3/9'));
    symlinkSync('4.png', place('old/3/2/4.png'));
    expect((await read(3, 2, 1))?.bytes.toString()).toBe('red');
    const outside = [await read(3, 2, 2), await read(3, 2, 3), await read(3, 9, 1), await read(3, 2, 4)];
    expect(outside).toEqual([null, null, null, null]);
  });

  it('an adopted folder is not confused with a neighbour whose name begins alike', async () => {
    writeFileSync(place('old-backup/1.png'), 'secret');
    symlinkSync('../../old-backup', place('old/3/2'));
    expect(await read(3, 2, 1)).toBeNull();
  });

  it('an adopted folder may itself be a link, but not out of the folders that are allowed', async () => {
    writeFileSync(place('real/3/2/1.png'), 'a tile');
    mkdirSync(join(folder, 'allowed'));
    symlinkSync('../real', join(folder, 'allowed/link'));
    const linked = { folder: join(folder, 'allowed/link') };
    expect(await read(3, 2, 1, linked)).not.toBeNull();
    expect(await read(3, 2, 1, { ...linked, within: [join(folder, 'real')] })).not.toBeNull();
    const refused = read(3, 2, 1, { ...linked, within: [join(folder, 'allowed')] });
    await expect(refused).rejects.toMatchObject({ code: 'store-failed' });
  });

  it('an adopted folder that does not exist is a store failure', async () => {
    await expect(read(3, 2, 1)).rejects.toMatchObject({ code: 'store-failed', cause: { code: 'ENOENT' } });
  });
});
