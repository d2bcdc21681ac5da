import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { hasCode } from '../../lib/error-code.ts';
import { OpenMarks, readPlace, type WrittenPlace, writePlace } from '../open-marks.ts';
import type { OpenMark } from '../tile-store.ts';
import { READERS_LEASE } from './at-rest-reader.ts';
import type { BundleLayout } from './bundle-layout.ts';
import { syncFolderNow } from './shared-file.ts';

interface WrittenMark extends Omit<OpenMark, 'places'> {
  readonly places: readonly WrittenPlace[] | null;
}

const EXTENSION = '.json';

/**
 * The open marks of a store: a file each, which never changes. A reader lists their names once in its lease and reads
 * those that are new; it waits for no lock, and for no writer that is syncing.
 */
export class BundleMarks {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #seenAt = Number.NEGATIVE_INFINITY;
  #names = '';
  #known: ReadonlyMap<string, OpenMark> = new Map();
  #marks = new OpenMarks([]);

  constructor(layout: BundleLayout, clock: Pick<Clock, 'monotonic'>) {
    this.#folder = layout.marks;
    this.#clock = clock;
  }

  /** As they were a lease ago, or later. */
  current(): OpenMarks {
    const now = this.#clock.monotonic();
    if (now - this.#seenAt < READERS_LEASE) return this.#marks;
    this.#look();
    this.#seenAt = now;
    return this.#marks;
  }

  /** As they are now, the earliest first. */
  list(): readonly OpenMark[] {
    this.#look();
    return [...this.#known.values()].sort((a, b) => a.number - b.number);
  }

  #look(): void {
    const names = namesIn(this.#folder);
    if (names.join() === this.#names) return;
    const found = names.flatMap((name): [string, OpenMark][] => {
      const mark = this.#known.get(name) ?? readMark(join(this.#folder, name));
      return mark ? [[name, mark]] : [];
    });
    this.#known = new Map(found);
    this.#marks = new OpenMarks(this.#known.values());
    this.#names = names.join();
  }
}

/** Durable, and in force for readers within their lease, when it returns. */
export function writeMark(layout: BundleLayout, mark: OpenMark): void {
  mkdirSync(layout.marks, { recursive: true });
  const path = join(layout.marks, `${mark.number}${EXTENSION}`);
  try {
    writeSynced(`${path}.part`, textOf(mark));
  } catch (error) {
    rmSync(`${path}.part`, { force: true });
    throw error;
  }
  renameSync(`${path}.part`, path);
  syncFolderNow(layout.marks);
}

function textOf({ places, ...mark }: OpenMark): string {
  const written = places ? `[${places.map(writePlace).join()}]` : 'null';
  return `${JSON.stringify(mark).slice(0, -1)},"places":${written}}`;
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'w');
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** One that is back after a power cut finds nothing to do. */
export function removeMark({ marks }: BundleLayout, number: number): Promise<void> {
  return rm(join(marks, `${number}${EXTENSION}`), { force: true });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(EXTENSION));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Null: it was closed since its name was listed. */
function readMark(path: string): OpenMark | null {
  try {
    const { places, ...mark } = JSON.parse(readFileSync(path, 'utf8')) as WrittenMark;
    return { ...mark, places: places?.map(readPlace) ?? null };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}
