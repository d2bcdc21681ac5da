import type { ApiBody } from './api/client.ts';
import type { Shape } from './map/shapes.ts';
import { parameterWishes } from './map/tile-set.ts';

export const TASK_TYPES = ['seed', 'reseed', 'truncate'] as const;
/** Work on an area: the first ones are tasks, all but the last can be scheduled. */
export const AREA_WORK = [...TASK_TYPES, 'invalidate', 'export'] as const;
export type Work = (typeof AREA_WORK)[number];

type ScheduleBody = ApiBody<'POST /api/v1/schedules'>;
type Always = 'layer' | 'gridSet' | 'format' | 'parameters' | 'zoomStart' | 'zoomStop' | 'threadCount';
export type TaskRequest = Required<Pick<ScheduleBody, Always>> &
  Pick<ScheduleBody, 'bounds' | 'area' | 'areaCrs' | 'order' | 'share'> & { readonly type: Work };

/** The request of a task or a schedule; null: the server's choice. */
type PartialRequest = { readonly [Name in keyof TaskRequest]?: TaskRequest[Name] | null };

/** A request as part of an address, for `planFrom`. */
export function queryOf(request: PartialRequest): Record<string, string> {
  const { type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, bounds, area, areaCrs } =
    request;
  const { order, share } = request;
  const texts = {
    type,
    gridSet,
    format,
    zoomStart,
    zoomStop,
    threadCount,
    ...(order === 'use' && { order, share }),
    ...(area ? { area: JSON.stringify(area), areaCrs } : { bounds }),
    ...parameterWishes(parameters ?? {}),
  };
  const known = Object.entries(texts).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

/** The request of a task. A task has its area in the grid set's CRS, and bounds around it. */
export function requestOfTask(
  task: Omit<TaskRequest, 'area' | 'areaCrs' | 'order' | 'share'> & {
    readonly area: Shape | null;
    readonly order: 'zoom' | 'use';
    readonly share: number | null;
  },
): TaskRequest {
  const { layer, type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, bounds, area } = task;
  const { order, share } = task;
  const byUse = share === null ? {} : { order, share };
  const what = { layer, type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, ...byUse };
  return area ? { ...what, area, areaCrs: 'grid-set' } : { ...what, ...(bounds && { bounds }) };
}
