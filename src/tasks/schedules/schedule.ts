import { WORK_TYPES } from '../task.ts';
import type { TaskDraft } from '../task-draft.ts';

/** The fate of a run that is unfinished when its hours end. */
export const OVERRUNS = ['pause', 'stop', 'finish'] as const;
type Overrun = (typeof OVERRUNS)[number];

export const SCHEDULED_WORK = [...WORK_TYPES, 'invalidate'] as const;
type ScheduledWork = (typeof SCHEDULED_WORK)[number];

/** A schedule as declared, checked. Plain data. */
export interface ScheduleDeclaration {
  readonly layer: string;
  /** Unique within the layer. */
  readonly name: string;
  /** Five fields, or a word such as `@daily`. */
  readonly cron: string;
  /** IANA name, e.g. `Europe/Berlin`; for `cron` and `hours`. */
  readonly timeZone: string;
  /** `22:00-06:00`: work is done within these hours only; null: at any hour. */
  readonly hours: string | null;
  readonly overrun: Overrun;
  readonly enabled: boolean;
  readonly work: ScheduledWork;
  /** The request; `layer` and `type` come from above. */
  readonly draft: Omit<TaskDraft, 'layer' | 'type' | 'key'>;
}

/**
 * due ─► started ─► over            (the task ended or was stopped, or there was none to wait for)
 *   │       ├─► failed              (the task failed; the detail says why)
 *   │       └─► held ─► started     (its hours were over; resumed when they begin again)
 *   ├─► skipped                     (the run before it is not over yet)
 *   └─► failed                      (the task could not be made; the detail says why)
 */
export const RUN_STATES = ['started', 'held', 'over', 'skipped', 'failed'] as const;
export type RunState = (typeof RUN_STATES)[number];

export interface ScheduleRun {
  /** The time of the cron expression; several missed ones are one run, the latest. */
  readonly dueAt: number;
  readonly at: number;
  readonly state: RunState;
  readonly taskId: number | null;
  readonly detail: string | null;
}

export interface Schedule extends ScheduleDeclaration {
  readonly id: number;
  /** Schedules of the configuration file can be changed only there. */
  readonly origin: 'configuration' | 'interface';
  readonly createdBy: string;
  readonly createdAt: number;
  /** The next time that is not dealt with yet; in the past while it waits for its hours or after a downtime. */
  readonly nextDue: number | null;
}
