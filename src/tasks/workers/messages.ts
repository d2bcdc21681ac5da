import { messageKind } from '../../lib/channel.ts';
import type { TilesChange } from '../lease-run.ts';

/** From the server to a worker. The first message: the worker's name and how much it may do at the same time. */
export const START = messageKind<{
  readonly owner: string;
  readonly threads: number;
  readonly workers: number;
}>('start');
export const WORK = messageKind('work');
export const CANCEL = messageKind<{ readonly taskId: number }>('cancel');
export const STOP = messageKind('stop');

/** From a worker to the server. */
export const WORKER_CHANGED_TASKS = messageKind('tasks-changed');
/** Answered when no process of the server shows these tiles any more. */
export const TILES_CHANGED = messageKind<TilesChange>('tiles-changed');
