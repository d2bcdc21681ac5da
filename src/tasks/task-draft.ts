import { createHash } from 'node:crypto';
import type { PixelBuffer } from '../domain/area-cover.ts';
import type { Area } from '../domain/area-in-grid-set.ts';
import type { PagePlace, UsedPage } from './cut-plan.ts';
import type { ArchiveOrder } from './task.ts';

/**
 * A request as a client made it, before defaults and names are checked. XML, JSON, a form and the command
 * line all come down to this one document.
 */
export interface TaskDraft {
  readonly layer: string;
  readonly type?: string;
  readonly gridSetId?: string;
  readonly srs?: number;
  /** minX, minY, maxX, maxY in the grid set's CRS. */
  readonly coords?: readonly number[];
  readonly zoomStart?: number;
  readonly zoomStop?: number;
  readonly format?: string;
  readonly threadCount?: number;
  readonly parameters?: ReadonlyMap<string, string>;
  readonly tileFailureRetryCount?: number;
  readonly tileFailureRetryWaitTime?: number;
  readonly totalFailuresBeforeAborting?: number;
  readonly area?: Area;
  /** Of the declared area with that shape. */
  readonly areaName?: string;
  readonly buffer?: PixelBuffer;
  readonly onlyStale?: boolean;
  /** Only these pages, in this order. */
  readonly pages?: readonly PagePlace[];
  /** `use`: the most used pages first, each followed by its children, until they have `share` of the use. */
  readonly order?: 'zoom' | 'use';
  readonly share?: number;
  /** Use counts that replace the recorded ones. */
  readonly uses?: readonly UsedPage[];
  readonly priority?: number;
  /** Makes it an export. */
  readonly archive?: ArchiveOrder;
  /** A second draft of the same author with the same key returns the first one's task. */
  readonly key?: TaskKey;
}

export interface TaskAuthor {
  /** Name for users. */
  readonly name: string;
  /** Identifies the author. Idempotency keys belong to it. */
  readonly account: string;
  /** Whether it may use up the limit that all share. */
  readonly unlimited: boolean;
}

/** Their keys cannot be made by a caller: accounts begin with `user:` or `token:`. */
export function scheduleAuthor(schedule: string): TaskAuthor {
  return { name: `schedule ${schedule}`, account: 'schedule', unlimited: true };
}

/** One task for each key of an author. */
export interface TaskKey {
  readonly text: string;
  /** Digest of the request; null: any request. */
  readonly digest: string | null;
}

/** `request`: as sent by the caller. The planned one depends on the layer. */
export function keyForRequest(text: string, request: object): TaskKey {
  return { text, digest: createHash('sha256').update(canonical(request)).digest('hex') };
}

/** JSON that does not depend on the order of fields. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    const fields = part instanceof Map ? Object.fromEntries(part) : part;
    if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) return fields;
    return Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

export function shareOf(author: TaskAuthor, max: number): number {
  return author.unlimited ? max : Math.max(1, Math.floor(max / 2));
}
