import type { PixelBuffer } from '../domain/area-cover.ts';
import type { Area } from '../domain/area-in-grid-set.ts';
import type { PagePlace, UsedPage } from './cut-plan.ts';
import type { ArchiveOrder } from './task.ts';
import type { TaskKey } from './task-author.ts';

/**
 * A request as a client made it, before defaults and names are looked at. XML, JSON, a form and the command
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
