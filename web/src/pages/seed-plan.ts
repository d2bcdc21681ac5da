import type { Body } from '../api/client.ts';
import { type Area, boundsIn, coordinateTexts, type Shape, WHOLE } from '../map/draw-area.ts';
import { type LayerInfo, parameterWishes, type TileSet, tileSetFrom } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';

export const TASK_TYPES = ['seed', 'reseed', 'truncate'] as const;
/** What a task does, or a schedule. */
export type Work = (typeof TASK_TYPES)[number] | 'invalidate';

/** The form as it is typed. */
export interface Plan {
  readonly set: TileSet;
  readonly type: Work;
  readonly area: Area;
  readonly zoomStart: string;
  readonly zoomStop: string;
  readonly threadCount: string;
}

/** What a task and a schedule have in common of their bodies. */
type Asked = Body<'POST /api/v1/schedules'>;
type Always = 'layer' | 'gridSet' | 'format' | 'parameters' | 'zoomStart' | 'zoomStop' | 'threadCount';
export type TaskRequest = Required<Pick<Asked, Always>> &
  Pick<Asked, 'bounds' | 'area' | 'areaCrs'> & { readonly type: Work };

/** By field. */
export type Faults = Readonly<Partial<Record<string, string>>>;

/** What is sent, or what is wrong: from a form with a fault there is no request. */
export type ReadPlan =
  | { readonly request: TaskRequest; readonly faults: Faults }
  | { readonly request: null; readonly faults: Faults };

const WORDS = TEXTS.seed;
/** Levels that are proposed at first: few enough to be done at once. */
const FIRST_LEVELS = 4;

export function readPlan({ set, type, area, ...typed }: Plan): ReadPlan {
  const { layer, gridSet, format, parameters } = set;
  const [zoomStart, zoomStop] = [wholeNumber(typed.zoomStart), wholeNumber(typed.zoomStop)];
  const threadCount = wholeNumber(typed.threadCount);
  const place = placeOf(area);
  const zooms = zoomStart !== null && zoomStop !== null && zoomStart <= zoomStop;
  const offered = zooms && zoomStart >= gridSet.zoomStart && zoomStop <= gridSet.zoomStop;
  const faults = {
    ...(!offered && { zooms: WORDS.badZooms(gridSet.zoomStart, gridSet.zoomStop) }),
    ...(!threadCount && { threads: WORDS.badThreads }),
    ...(!place && { bounds: WORDS.badBounds }),
  };
  if (!offered || !threadCount || !place) return { request: null, faults };
  const what = { layer: layer.name, type, gridSet: gridSet.name, format, parameters };
  return { request: { ...what, zoomStart, zoomStop, threadCount, ...place }, faults };
}

function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}

function placeOf(area: Area): Pick<TaskRequest, 'bounds' | 'area' | 'areaCrs'> | null {
  if (area.kind === 'whole') return {};
  if (area.kind === 'shape') return { area: area.shape, areaCrs: area.crs };
  const bounds = boundsIn(area);
  return bounds && { bounds };
}

/** What there is already of a task or a schedule: null is what the server chooses. */
type Given = { readonly [Name in keyof TaskRequest]?: TaskRequest[Name] | null };

/** A request as part of an address, for `planFrom`. */
export function queryOf(given: Given): Record<string, string> {
  const { type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, bounds, area, areaCrs } =
    given;
  const texts = {
    ...{ type, gridSet, format, zoomStart, zoomStop, threadCount },
    ...(area ? { area: JSON.stringify(area), areaCrs } : { bounds }),
    ...parameterWishes(parameters ?? {}),
  };
  const known = Object.entries(texts).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

/** The request that made a task. Its area stands there in the grid set's CRS, its bounds are then those of the area. */
export function requestOfTask(
  task: Omit<TaskRequest, 'area' | 'areaCrs'> & { readonly area: Shape | null },
): TaskRequest {
  const { layer, type, gridSet, format, parameters, zoomStart, zoomStop, threadCount, bounds, area } = task;
  const what = { layer, type, gridSet, format, parameters, zoomStart, zoomStop, threadCount };
  return area ? { ...what, area, areaCrs: 'grid-set' } : { ...what, ...(bounds && { bounds }) };
}

/** Null for a layer without grid sets. Zooms that are not named are the first few, or `all`. */
export function planFrom(layer: LayerInfo, query: URLSearchParams, usual: Work, all = false): Plan | null {
  const set = tileSetFrom(layer, query);
  if (!set) return null;
  const { zoomStart, zoomStop } = set.gridSet;
  const last = all ? zoomStop : Math.min(zoomStop, zoomStart + FIRST_LEVELS);
  return {
    set,
    type: [...TASK_TYPES, 'invalidate' as const].find((type) => type === query.get('type')) ?? usual,
    area: areaFrom(query),
    zoomStart: query.get('zoomStart') ?? String(zoomStart),
    zoomStop: query.get('zoomStop') ?? String(last),
    threadCount: query.get('threadCount') ?? '2',
  };
}

/** `bounds=minX,minY,maxX,maxY`, or `area=` GeoJSON. What cannot be read is a fault of the form, and never the whole layer. */
function areaFrom(query: URLSearchParams): Area {
  const [bounds, area] = [query.get('bounds'), query.get('area')];
  if (area !== null) {
    const crs = query.get('areaCrs') === 'grid-set' ? 'grid-set' : 'EPSG:4326';
    try {
      return { kind: 'shape', shape: JSON.parse(area) as Shape, crs };
    } catch {
      return { kind: 'bounds', typed: [area] };
    }
  }
  if (bounds === null || bounds === '') return WHOLE;
  return {
    kind: 'bounds',
    typed: coordinateTexts(bounds.split(',').map((text) => Number(text || Number.NaN))),
  };
}
