import { getOrCreate } from '../lib/get-or-create.ts';
import { Turnstile } from '../lib/turnstile.ts';
import { createPace, type Pace } from '../lib/yielding.ts';
import { type Chain, chainOf } from './area-chains.ts';
import { type AreaMask, joinMasks, maskOf } from './area-mask.ts';
import type { MapPicture, Polygon } from './bounds.ts';
import type { GridSet } from './grid-set.ts';
import { type ChangedPlace, MAX_POINTS, polygonsIn } from './place-in-grid-set.ts';
import { simplified } from './simplify-polygons.ts';

/** Converted, or looked at: some milliseconds. */
const POINTS_PER_TURN = 2000;
const EDGES_PER_TURN = 10_000;

const placed = new WeakMap<ChangedPlace, Map<string, Promise<Chain>>>();
/** However many pictures are masked, one of them goes on in a turn of the event loop. */
const turns = new Turnstile();

/** The part of a picture in the CRS of a grid set that at least one of the areas covers. */
export async function maskWithin(
  areas: readonly ChangedPlace[],
  gridSet: GridSet,
  picture: MapPicture,
): Promise<AreaMask> {
  const masks: AreaMask[] = [];
  for (const area of areas) {
    const mask = await maskOf(await placedIn(gridSet, area), picture, paced(EDGES_PER_TURN));
    if (mask === 'everything') return mask;
    masks.push(mask);
  }
  return joinMasks(masks);
}

/** In the CRS of the grid set, simplified to what tasks take and consoles draw. */
export async function outlineIn(gridSet: GridSet, area: ChangedPlace): Promise<readonly Polygon[]> {
  const pace = paced(POINTS_PER_TURN);
  const few = await simplified(area.polygons, MAX_POINTS, pace);
  const { polygons } = await polygonsIn(
    gridSet,
    gridSet.levels.length - 1,
    { ...area, polygons: few },
    pace,
    Infinity,
  );
  return simplified(polygons, MAX_POINTS, pace);
}

/** Grid sets that differ in their name only share it. */
function placedIn(gridSet: GridSet, area: ChangedPlace): Promise<Chain> {
  const { srs, extent, levels } = gridSet;
  const key = JSON.stringify([srs, extent, levels.at(-1)?.resolution]);
  const known = getOrCreate(placed, area, () => new Map<string, Promise<Chain>>());
  return getOrCreate(known, key, async () => {
    const pace = paced(POINTS_PER_TURN);
    const { polygons } = await polygonsIn(gridSet, levels.length - 1, area, pace, Infinity);
    return chainOf(polygons, pace);
  });
}

function paced(perTurn: number): Pace {
  return createPace(perTurn, () => turns.pass());
}
