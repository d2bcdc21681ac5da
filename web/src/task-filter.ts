import type { ApiBody } from './api/client.ts';
import type { Task } from './api/task-feed.ts';
import { parameterWishes } from './map/tile-set.ts';
import { TEXTS } from './texts.ts';

export const TASK_TYPES = ['seed', 'reseed', 'truncate'] as const;
/** Work on an area: the first ones are tasks, all but the last can be scheduled. */
export const AREA_WORK = [...TASK_TYPES, 'invalidate', 'export'] as const;
export type Work = (typeof AREA_WORK)[number];

type ScheduleBody = ApiBody<'POST /api/v1/schedules'>;
type Always = 'layer' | 'gridSet' | 'format' | 'parameters' | 'zoomStart' | 'zoomStop' | 'threadCount';
export type TaskRequest = Required<Pick<ScheduleBody, Always>> &
  Pick<ScheduleBody, 'bounds' | 'area' | 'areaCrs' | 'order' | 'share'> & { readonly type: Work };

/** The request of a task or a schedule; null: the server's choice. */
type PartialRequest = { readonly [Name in keyof TaskRequest]?: TaskRequest[Name] | null } & {
  readonly areaName?: string | null;
};

/** A request as part of an address, for `planFrom`. */
export function queryOf(request: PartialRequest): Record<string, string> {
  const { type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, bounds } = request;
  const { order, share, areaCrs, area = null } = request;
  const name = request.areaName ?? (typeof area === 'string' ? area : null);
  const texts = {
    type,
    gridSet,
    format,
    zoomStart,
    zoomStop,
    threadCount,
    ...(order === 'use' && { order, share }),
    ...(name !== null ? { area: name } : area ? { area: JSON.stringify(area), areaCrs } : { bounds }),
    ...parameterWishes(parameters ?? {}),
  };
  const known = Object.entries(texts).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

/** The request of a task. A task has its area in the grid set's CRS, its name, and bounds around it. */
export function requestOfTask(
  task: Omit<TaskRequest, 'area' | 'areaCrs' | 'order' | 'share'> &
    Pick<Task, 'area' | 'areaName' | 'order' | 'share'>,
): TaskRequest {
  const { layer, type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, bounds, area } = task;
  const { order, share } = task;
  const byUse = share === null ? {} : { order, share };
  const what = { layer, type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, ...byUse };
  if (task.areaName !== null) return { ...what, area: task.areaName };
  return area ? { ...what, area, areaCrs: 'grid-set' } : { ...what, ...(bounds && { bounds }) };
}

const DAY_MS = 86_400_000;
const WORDS = TEXTS.tasks;

/** Days, and their texts. */
export const AGES: readonly (readonly [days: string, text: string])[] = [
  ['', WORDS.sinces.any],
  ['1', WORDS.sinces.day],
  ['7', WORDS.sinces.week],
  ['31', WORDS.sinces.month],
];

/** Choices of the state field as the server's filter. */
const STATES: Readonly<Record<string, Pick<Conditions, 'state' | 'outcome'>>> = {
  running: { state: ['running'] },
  pending: { state: ['pending'] },
  paused: { state: ['paused'] },
  done: { outcome: ['ok'] },
  failed: { outcome: ['partial', 'failed'] },
  aborted: { outcome: ['stopped'] },
};

/** As in the address of the page; an empty text is no condition. */
export type TaskFilter = Readonly<ReturnType<typeof filterOf>>;

/** The server's filter: in a query, and in the body that stops tasks. */
type Conditions = Pick<ApiBody<'POST /api/v1/tasks/stop'>, 'type' | 'layer' | 'since'> & {
  readonly state?: Task['state'][];
  readonly outcome?: NonNullable<Task['outcome']>[];
};

export function filterOf(query: URLSearchParams) {
  const [state = '', type = '', layer = '', days = ''] = ['state', 'type', 'layer', 'days'].map(
    (name) => query.get(name) ?? '',
  );
  return {
    state: state in STATES ? state : '',
    type: type in WORDS.types ? type : '',
    layer,
    days: AGES.some(([known]) => known === days) ? days : '',
  };
}

/** `now`: milliseconds since 1970. */
export function conditionsOf({ state, type, layer, days }: TaskFilter, now: number): Conditions {
  return {
    ...STATES[state],
    ...(type !== '' && { type: type as Task['type'] }),
    ...(layer !== '' && { layer }),
    ...(days !== '' && { since: new Date(now - Number(days) * DAY_MS).toISOString() }),
  };
}

export function searchOf(conditions: Conditions, limit: number): string {
  const values = Object.entries({ ...conditions, limit }).map(([name, value]) => [name, String(value)]);
  return new URLSearchParams(values).toString();
}

/** Whether a changed task belongs to the list. */
export function fits(task: Task, { state, outcome, type, layer, since }: Conditions): boolean {
  return (
    (state?.includes(task.state) ?? true) &&
    (outcome === undefined || (task.outcome !== null && outcome.includes(task.outcome))) &&
    (type === undefined || task.type === type) &&
    (layer === undefined || task.layer === layer) &&
    (since === undefined || task.createdAt >= since)
  );
}

/** Newest first; the newest version of each counts. */
export function withTaskChanges(
  listed: readonly Task[],
  changes: ReadonlyMap<number, Task>,
): readonly Task[] {
  const byId = new Map([...listed.map((task) => [task.id, task] as const), ...changes]);
  return [...byId.values()].sort((a, b) => b.id - a.id);
}

export const FAILED_LATELY: TaskFilter = { state: 'failed', type: '', layer: '', days: '1' };

export function isOver({ state }: Pick<Task, 'state'>): boolean {
  return state === 'done' || state === 'aborted';
}

export function canRetry(task: Task): boolean {
  return isOver(task) && task.counters.failed > 0;
}
