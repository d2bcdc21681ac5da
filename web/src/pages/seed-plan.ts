import type { Area } from '../map/draw-area.ts';
import type { TileSet } from '../map/tile-set.ts';

/** What the form says. */
export interface Plan {
  readonly set: TileSet;
  readonly type: 'seed' | 'reseed' | 'truncate';
  readonly area: Area;
  readonly zoomStart: number;
  readonly zoomStop: number;
  readonly threadCount: number;
}

/** The body of `POST /api/v1/tasks`. */
export function requestOf(plan: Omit<Plan, 'type'> & { readonly type: string }): object {
  const { set, type, area, zoomStart, zoomStop, threadCount } = plan;
  return {
    layer: set.layer.name,
    type,
    gridSet: set.gridSet.name,
    format: set.format,
    parameters: set.parameters,
    zoomStart: numberOrNull(zoomStart),
    zoomStop: numberOrNull(zoomStop),
    threadCount: numberOrNull(threadCount),
    ...areaFields(area),
  };
}

/** A field that was emptied is not a number; the server then takes what is usual. */
function numberOrNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function areaFields(area: Area): object {
  if (area.kind === 'whole') return {};
  if (area.kind === 'bounds') return { bounds: area.bounds };
  return { area: { type: 'Polygon', coordinates: [area.ring] }, areaCrs: 'grid-set' };
}

/** `minX,minY,maxX,maxY` of an address. */
export function areaFrom(text: string | null): Area {
  const numbers = text === null || text === '' ? [] : text.split(',').map(Number);
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = numbers;
  if (numbers.length !== 4 || !numbers.every(Number.isFinite)) return { kind: 'whole' };
  return { kind: 'bounds', bounds: [minX, minY, maxX, maxY] };
}
