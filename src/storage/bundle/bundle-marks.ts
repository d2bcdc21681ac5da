import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Clock } from '../../lib/clock.ts';
import { hasCode } from '../../lib/error-code.ts';
import { OpenMarks } from '../open-marks.ts';
import type { BundleLayout } from './bundle-layout.ts';
import { READERS_LEASE } from './bundle-reader.ts';
import type { Generations } from './generations.ts';

/**
 * The open marks of a store, for readers. A file of some bytes changes with them, so that a reader compares those, once in
 * its lease and without a lock, and does not wait for a writer that is syncing.
 */
export class BundleMarks {
  readonly #path: string;
  readonly #generations: Pick<Generations, 'openMarks'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #seenAt = Number.NEGATIVE_INFINITY;
  #version: string | null = null;
  #marks = new OpenMarks([]);

  constructor(
    layout: BundleLayout,
    generations: Pick<Generations, 'openMarks'>,
    clock: Pick<Clock, 'monotonic'>,
  ) {
    this.#path = layout.marks;
    this.#generations = generations;
    this.#clock = clock;
  }

  /** As they were a lease ago, or later. Fails as busy when they have changed and another process holds them. */
  current(): OpenMarks {
    const now = this.#clock.monotonic();
    if (now - this.#seenAt < READERS_LEASE) return this.#marks;
    const version = versionAt(this.#path);
    if (version !== this.#version) {
      this.#marks = new OpenMarks(this.#generations.openMarks());
      this.#version = version;
    }
    this.#seenAt = now;
    return this.#marks;
  }
}

const VERSION_BYTES = 16;
const NO_VERSION = '';

function versionAt(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return NO_VERSION;
    throw error;
  }
}

/** Every reader looks at the marks again, within its lease. Bytes that are overwritten need no room on a full disk. */
export function announceMarks({ marks }: BundleLayout): void {
  const file = openExisting(marks) ?? openSync(marks, 'w');
  try {
    writeSync(file, randomBytes(VERSION_BYTES), 0, VERSION_BYTES, 0);
  } finally {
    closeSync(file);
  }
}

function openExisting(path: string): number | null {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}
