/** Named areas: `/api/v1/areas`, and names of areas in the bodies of other requests. */
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { coordsOf } from '../../domain/bounds.ts';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { invalid, shortened, TilewardenError } from '../../domain/errors.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import { findGridSubset, type Layer } from '../../domain/layer.ts';
import type { NamedArea } from '../../domain/named-area.ts';
import { outlineIn } from '../../domain/placed-area.ts';
import { isoTime } from '../../lib/clock.ts';
import { closestName } from '../../lib/closest-name.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { type AreaFields, areaShown, bounds, count, type NAMED_AREA_FIELDS, time } from './values.ts';

export const areaListResponse = z.object({
  areas: z.array(
    z.object({
      name: z.string(),
      bounds: bounds.describe('minX, minY, maxX, maxY in its CRS'),
      srs: z.string(),
      points: count,
      updatedAt: time.describe('When it was last read'),
      error: z.string().nullable().describe('Why it was not read; viewers see no names of servers and files'),
    }),
  ),
});
export const areaResponse = areaShown.describe('RFC 7946: in degrees, simplified to at most 10,000 points');

export function listAreas({ caller }: Call, { areas, about }: ApiDeps) {
  const startedAt = isoTime(about.startedAt);
  const shown = [...areas.values()].filter(({ name }) => maySee(caller, name));
  return {
    areas: shown.map(({ name, srs, points, bounds: box, updatedAt: readAt, error }) => ({
      name,
      bounds: coordsOf(box),
      srs: `EPSG:${srs}`,
      points,
      updatedAt: readAt === null ? startedAt : isoTime(readAt),
      error: error !== null && caller.role === 'viewer' ? 'Operators see the reason.' : error,
    })),
  };
}

/** A viewer whose account is limited to areas sees only these. */
function maySee({ areas }: Caller, area: string): boolean {
  return areas?.includes(area) ?? true;
}

export async function showArea({ caller, params }: Call<{ params: 'name' }>, { areas }: ApiDeps) {
  const area = areas.get(params.name);
  if (!area || !maySee(caller, params.name))
    throw new TilewardenError('entry-unknown', `There is no area ${shortened(params.name)}.`);
  return outlineShape(area, wgs84GridSet());
}

type NamedAreaFields = z.output<z.ZodObject<typeof NAMED_AREA_FIELDS>>;

/** The body with a named area replaced by its shape; `areaName` keeps the name. */
type Shaped<Body> = Omit<Body, keyof AreaFields> & AreaFields & { readonly areaName?: string };

/** Replaces a named area by its shape, in the CRS of a single grid set, else in degrees. Throws `request-invalid`. */
export async function withShape<Body extends NamedAreaFields>(
  body: Body,
  layer: Layer | undefined,
  gridSets: readonly string[] | undefined,
  { areas }: Pick<ApiDeps, 'areas'>,
): Promise<Shaped<Body>> {
  const { area: shapeOrName, areaCrs, ...rest } = body;
  if (typeof shapeOrName !== 'string')
    return { ...rest, ...(shapeOrName && { area: shapeOrName }), ...(areaCrs && { areaCrs }) };
  const area = areaNamed(shapeOrName, areas);
  if (area.points === 0)
    throw invalid(`The area ${shapeOrName} could not be read yet: ${area.error ?? 'it is being read'}.`);
  if (areaCrs) throw invalid('areaCrs goes only with coordinates: an area has a CRS of its own.');
  const offered = layer?.gridSubsets.map(({ gridSet }) => gridSet.name) ?? [];
  const [only, ...others] = gridSets ?? offered;
  const gridSet =
    only === undefined || others.length > 0 ? null : layer && findGridSubset(layer, only)?.gridSet;
  const shape = await outlineShape(area, gridSet ?? wgs84GridSet());
  return { ...rest, area: shape, areaCrs: gridSet ? 'grid-set' : 'EPSG:4326', areaName: shapeOrName };
}

/** `withShape` for a task, which has one grid set. */
export function withTaskShape<Body extends NamedAreaFields & { readonly gridSet?: string }>(
  layer: string,
  body: Body,
  deps: Pick<ApiDeps, 'areas' | 'catalog'>,
): Promise<Shaped<Body>> {
  const bound = deps.catalog.layer(layer)?.layer;
  const gridSet = body.gridSet ?? bound?.gridSubsets[0].gridSet.name;
  return withShape(body, bound, gridSet === undefined ? [] : [gridSet], deps);
}

/** Finds an area by its name. Throws `request-invalid`. */
export function areaNamed(name: string, areas: ApiDeps['areas']): NamedArea {
  const area = areas.get(name);
  if (area) return area;
  const known = [...areas.keys()];
  const meant = closestName(name, known);
  const hint = meant ? `did you mean ${meant}?` : `there are ${known.join(', ') || 'none'}.`;
  throw invalid(`area names ${shortened(name)}, which is not declared; ${hint}`);
}

async function outlineShape(area: NamedArea, gridSet: GridSet) {
  const polygons = await outlineIn(gridSet, area);
  const coordinates = polygons.map((rings) =>
    rings.map((ring) => ring.map(([x, y]): [number, number] => [x, y])),
  );
  return { type: 'MultiPolygon' as const, coordinates };
}

function wgs84GridSet(): GridSet {
  const wgs84 = builtInGridSets().find(({ srs }) => srs === 4326);
  if (!wgs84) throw new Error('EPSG:4326 is built in.');
  return wgs84;
}
