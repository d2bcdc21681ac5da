import { gzipSync } from 'node:zlib';

/** PMTiles 3, section 4: `runLength` 0 points at a leaf directory. */
export interface DirectoryEntry {
  readonly tileId: number;
  readonly offset: number;
  readonly length: number;
  readonly runLength: number;
}

/** PMTiles 3, section 4.2: columns of variable-length numbers, gzip-compressed. */
export function writeDirectory(entries: readonly DirectoryEntry[]): Buffer {
  const numbers = [
    entries.length,
    ...entries.map(({ tileId }, index) => tileId - (entries[index - 1]?.tileId ?? 0)),
    ...entries.map(({ runLength }) => runLength),
    ...entries.map(({ length }) => length),
    // 0: right behind the one before; otherwise the offset and one.
    ...entries.map((entry, index) => (follows(entries[index - 1], entry) ? 0 : entry.offset + 1)),
  ];
  return gzipSync(Buffer.from(numbers.flatMap(varint)));
}

function follows(before: DirectoryEntry | undefined, { offset }: DirectoryEntry): boolean {
  return before !== undefined && offset === before.offset + before.length;
}

function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return bytes;
}

export interface StoredTilePlace {
  readonly tile_id: number;
  readonly offset: number;
  readonly length: number;
}

/** Equal tiles that follow each other become one entry. */
export function* joinRuns(places: Iterable<StoredTilePlace>): Generator<DirectoryEntry> {
  let run: DirectoryEntry | null = null as DirectoryEntry | null;
  for (const { tile_id: tileId, offset, length } of places) {
    if (run && run.offset === offset && run.tileId + run.runLength === tileId) {
      run = { ...run, runLength: run.runLength + 1 };
      continue;
    }
    if (run) yield run;
    run = { tileId, offset, length, runLength: 1 };
  }
  if (run) yield run;
}

export function* inGroups<T>(items: Iterable<T>, size: number): Generator<readonly T[]> {
  let group: T[] = [];
  for (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
