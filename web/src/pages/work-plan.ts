import { fittingZoom } from '../../../src/domain/fitting-zoom.ts';
import { part } from '../api/client.ts';
import { fill, numberField, typedNumber } from '../format.ts';
import { type Area, boundsIn, coordinateTexts, isWhole, shapeIn, WHOLE } from '../map/draw-area.ts';
import { rectangleOf } from '../map/shapes.ts';
import { type GridSetInfo, type LayerInfo, type TileSet, tileSetFrom } from '../map/tile-set.ts';
import { AREA_WORK, TASK_TYPES, type TaskRequest, type Work } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';

export interface Plan {
  readonly set: TileSet;
  readonly type: Work;
  readonly area: Area;
  readonly zoomStart: string;
  readonly zoomStop: string;
  readonly threadCount: string;
  /** Every format and parameter value, and not only the chosen ones. */
  readonly every: boolean;
  /** The most used pages first, until they cover this percentage of the use. */
  readonly byUse: boolean;
  readonly percent: string;
  readonly archive: keyof typeof WORDS.archives;
  /** The zooms are a proposal, not a choice of the user. */
  readonly zoomsProposed: boolean;
}

/** By field. */
export type Faults = Readonly<Partial<Record<string, string>>>;

/** The server has a sentence for each field, which begins with its name, e.g. `gridSets[0].zoomStop must be a number.` */
export function faultsFrom(message: string): Faults {
  const sentences = message.split(/(?<=[.?]) (?=[\w.[\]]+ (?:must|is|names|cannot) )/);
  return Object.fromEntries(sentences.map((text) => [text.split(' ', 1)[0], text]));
}

/** A form with a fault has no request. */
export type ReadPlan =
  | { readonly request: TaskRequest; readonly faults: Faults }
  | { readonly request: null; readonly faults: Faults };

const WORDS = TEXTS.seed;
/** Levels below the first that are proposed: few enough to be done in seconds. */
const FIRST_LEVELS = 4;
const DEFAULT_SHARE = 0.95;

export function readPlan({ set, type, area, ...typed }: Plan): ReadPlan {
  const { layer, gridSet, format, parameters } = set;
  const [zoomStart, zoomStop] = [wholeNumber(typed.zoomStart), wholeNumber(typed.zoomStop)];
  const threadCount = wholeNumber(typed.threadCount);
  const byUse = typed.byUse && isMaking(type);
  const percent = typedNumber(typed.percent) ?? 0;
  const share = percent > 0 && percent <= 100 ? percent / 100 : null;
  const place = placeOf(area);
  const isComplete = layer.parameters.every(
    ({ name, default: usual }) => parameters[name] !== '' || usual === '',
  );
  const zooms = zoomStart !== null && zoomStop !== null && zoomStart <= zoomStop;
  const offered = zooms && zoomStart >= gridSet.zoomStart && zoomStop <= gridSet.zoomStop;
  const startIsWrong = zoomStart === null || zoomStart < gridSet.zoomStart || zoomStart > gridSet.zoomStop;
  const faults = {
    ...(!offered && {
      [startIsWrong ? 'zoomStart' : 'zoomStop']: fill(WORDS.badZooms, {
        from: gridSet.zoomStart,
        to: gridSet.zoomStop,
      }),
    }),
    ...(!threadCount && { threadCount: WORDS.badThreads }),
    ...(byUse && share === null && { percent: WORDS.badPercent }),
    ...(!place && { bounds: area.kind === 'text' ? WORDS.badGeoJson : WORDS.badBounds }),
  };
  if (!offered || !threadCount || !place || !isComplete || (byUse && share === null))
    return { request: null, faults };
  const order = byUse && share !== null ? ({ order: 'use', share } as const) : {};
  const what = { layer: layer.name, type, gridSet: gridSet.name, format, parameters, ...order };
  return { request: { ...what, zoomStart, zoomStop, threadCount, ...place }, faults };
}

/** Work on cached tiles begins with all zooms with tiles, other work with the zooms that fit the extent. */
export function proposedZooms(
  { type, set, zoomsProposed }: Plan,
  cached: readonly { readonly z: number; readonly tiles: number }[],
): Partial<Plan> {
  if (!zoomsProposed) return {};
  const { zoomStart, zoomStop } = set.gridSet;
  const zooms = cached.filter(({ tiles }) => tiles > 0).map(({ z }) => z);
  const [first, last] = worksOnCached(type)
    ? [zooms[0] ?? zoomStart, zooms.at(-1) ?? zoomStop]
    : firstZooms(set.gridSet);
  return { zoomStart: String(first), zoomStop: String(last) };
}

/** The zoom at which the layer is seen as a whole, and a few more. */
export function firstZooms(gridSet: GridSetInfo): readonly [first: number, last: number] {
  const first = fittingZoom(gridSet);
  return [first, Math.min(gridSet.zoomStop, first + FIRST_LEVELS)];
}

export function isTask(type: Work): boolean {
  return TASK_TYPES.some((one) => one === type);
}

export function isMaking(type: Work): boolean {
  return type === 'seed' || type === 'reseed';
}

export function worksOnCached(type: Work): boolean {
  return type === 'truncate' || type === 'invalidate' || type === 'export';
}

function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}

function placeOf(area: Area): Pick<TaskRequest, 'bounds' | 'area' | 'areaCrs'> | null {
  if (isWhole(area)) return {};
  if (area.kind === 'whole' || area.kind === 'text') return null;
  if (area.kind === 'named') return { area: area.name };
  if (area.kind === 'shape') return { area: area.shape, areaCrs: area.crs };
  const bounds = boundsIn(area);
  if (!bounds || !area.degrees) return bounds && { bounds };
  return { area: rectangleOf(bounds), areaCrs: 'EPSG:4326' };
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: object;
}

export function callsFor(request: TaskRequest, { set, every, archive }: Plan): readonly Call[] {
  const { layer, type, gridSet, format, parameters } = request;
  const post = (path: string, body: object): Call => ({ method: 'POST', path, body });
  const ofLayer = `api/v1/layers/${part(layer)}`;
  if (type === 'invalidate') return [post(`${ofLayer}/invalidate`, selectionOf(request, every))];
  if (type !== 'export') return [post('api/v1/tasks', taskBody(request, every))];
  const wanted = every ? combinationsOf(set.layer) : [{ format, parameters }];
  const file = { layer, type: archive, gridSet };
  return wanted.map((one) => post('api/v1/exports', { ...file, ...one, ...whereOf(request) }));
}

/** One format and combination of parameter values, or all. */
export function taskBody(request: TaskRequest, every: boolean): object {
  const { format, parameters, ...rest } = request;
  return every ? { ...rest, every } : request;
}

/** Tiles of a layer as a truncation and an invalidation take them; `every`: in all formats and parameter values. */
export function selectionOf(request: TaskRequest, every: boolean): object {
  const { gridSet, format, parameters } = request;
  return { gridSets: [gridSet], ...(!every && { formats: [format], parameters }), ...whereOf(request) };
}

function whereOf({ layer, type, gridSet, format, parameters, threadCount, ...where }: TaskRequest): object {
  return where;
}

export function combinationCount({ formats, parameters }: LayerInfo): number {
  const valuesOf = ({ default: usual, values }: LayerInfo['parameters'][number]) =>
    new Set([usual, ...(values ?? [])]).size;
  return parameters.reduce((product, one) => product * valuesOf(one), formats.length);
}

/** A parameter without a list of values has only its default. */
function combinationsOf({ formats, parameters }: LayerInfo) {
  return parameters.reduce<readonly Pick<TaskRequest, 'format' | 'parameters'>[]>(
    (found, { name, default: usual, values }) =>
      found.flatMap((one) =>
        [usual, ...(values ?? []).filter((value) => value !== usual)].map((value) =>
          value === usual ? one : { ...one, parameters: { ...one.parameters, [name]: value } },
        ),
      ),
    formats.map((format) => ({ format, parameters: {} })),
  );
}

/** Null for a layer without grid sets. Zooms that are not named are those of `firstZooms`, or `all`. */
export function planFrom(layer: LayerInfo, query: URLSearchParams, usual: Work, all = false): Plan | null {
  const set = tileSetFrom(layer, query);
  if (!set) return null;
  const { zoomStart, zoomStop } = set.gridSet;
  const [first, last] = all ? [zoomStart, zoomStop] : firstZooms(set.gridSet);
  return {
    set,
    type: AREA_WORK.find((type) => type === query.get('type')) ?? usual,
    area: areaFrom(query),
    zoomStart: query.get('zoomStart') ?? String(first),
    zoomStop: query.get('zoomStop') ?? String(last),
    threadCount: query.get('threadCount') ?? '2',
    every: query.get('format') === '*',
    byUse: query.get('order') === 'use',
    percent: numberField(Math.round(Number(query.get('share') ?? DEFAULT_SHARE) * 1000) / 10),
    archive: 'mbtiles',
    zoomsProposed: !all && !query.has('zoomStart') && !query.has('zoomStop'),
  };
}

/** Whether it is the name of an area, and not GeoJSON. */
export function isName(area: string): boolean {
  return area !== '' && !area.trimStart().startsWith('{');
}

/** `bounds=minX,minY,maxX,maxY`, or `area=` GeoJSON or a name. An unreadable area is a fault of the form, never the whole layer. */
function areaFrom(query: URLSearchParams): Area {
  const [bounds, area] = [query.get('bounds'), query.get('area')];
  if (area !== null) {
    if (isName(area)) return { kind: 'named', name: area };
    const crs = query.get('areaCrs') === 'grid-set' ? 'grid-set' : 'EPSG:4326';
    const shape = shapeIn(area);
    return shape ? { kind: 'shape', shape, crs } : { kind: 'text', text: area };
  }
  if (bounds === null || bounds === '') return WHOLE;
  return {
    kind: 'bounds',
    typed: coordinateTexts(bounds.split(',').map((text) => Number(text || Number.NaN))),
  };
}
