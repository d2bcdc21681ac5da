/**
 * The rings of an area as a tree of chains: runs of points one after the other, each with its box, its ends, and the
 * area between it and the line from end to end. A picture reads only the chains that it shows; a chain beside it, or
 * one much smaller than a pixel, counts as that line.
 */

import type { Pace } from '../lib/yielding.ts';
import { type AreaShape, ringsOf } from './area-shape.ts';
import { type Bounds, boundsAround } from './bounds.ts';

export interface Chain extends Bounds {
  readonly startX: number;
  readonly startY: number;
  readonly endX: number;
  readonly endY: number;
  /** Between the chain and the line from its end to its start; positive when that is clockwise. */
  readonly area: number;
  /** The parts, or the points: x and y in turn. */
  readonly parts: readonly Chain[] | Float64Array;
}

const EDGES_PER_CHAIN = 16;
const PARTS_PER_CHAIN = 8;
/** Points between two checks of the clock of the event loop. */
const POINTS_PER_STEP = 1024;
/** Chains that are joined in the time of so many points. */
const CHAINS_PER_STEP = 128;

/** The chain of a shape: outer rings are turned clockwise, holes counter-clockwise. `pace` counts points. */
export async function chainOf(shape: AreaShape, pace: Pace): Promise<Chain> {
  const rings: Chain[] = [];
  for (const { points, isOuter } of ringsOf(shape)) rings.push(await ringChain(points, isOuter, pace));
  return joined(rings, true, pace);
}

async function ringChain(ring: Float64Array, clockwise: boolean, pace: Pace): Promise<Chain> {
  const isTurned = (await twiceTheArea(ring, pace)) < 0 === clockwise;
  const length = ring.length / 2;
  const leaves: Chain[] = [];
  for (let from = 0; from < length; from += EDGES_PER_CHAIN) {
    const edges = Math.min(EDGES_PER_CHAIN, length - from);
    const points = new Float64Array(2 * (edges + 1));
    for (let i = 0; i <= edges; i++) {
      const at = 2 * (isTurned ? (2 * length - from - i) % length : (from + i) % length);
      points[2 * i] = ring[at] ?? 0;
      points[2 * i + 1] = ring[at + 1] ?? 0;
    }
    leaves.push(leafOf(points));
    if ((from + edges) % POINTS_PER_STEP === 0) await pace(POINTS_PER_STEP);
  }
  return joined(leaves, false, pace);
}

/** Positive when clockwise. */
async function twiceTheArea(ring: Float64Array, pace: Pace): Promise<number> {
  let twice = 0;
  let [x0, y0] = [ring.at(-2) ?? 0, ring.at(-1) ?? 0];
  for (let i = 0; i < ring.length; i += 2) {
    const [x1, y1] = [ring[i] ?? 0, ring[i + 1] ?? 0];
    twice += (x1 - x0) * (y1 + y0);
    [x0, y0] = [x1, y1];
    if (i % POINTS_PER_STEP === 0) await pace(POINTS_PER_STEP / 2);
  }
  return twice;
}

function leafOf(points: Float64Array): Chain {
  const { length } = points;
  const [startX = 0, startY = 0] = points;
  const [endX = 0, endY = 0] = points.subarray(length - 2);
  let [minX, minY, maxX, maxY] = [startX, startY, startX, startY];
  // From the start: large coordinates would cost the sum its last digits.
  let twice = (startX - endX) * (endY - startY);
  for (let i = 2; i < length; i += 2) {
    const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = points.subarray(i - 2, i + 2);
    twice += (x1 - x0) * (y1 - startY + (y0 - startY));
    minX = Math.min(minX, x1);
    minY = Math.min(minY, y1);
    maxX = Math.max(maxX, x1);
    maxY = Math.max(maxY, y1);
  }
  return { startX, startY, endX, endY, minX, minY, maxX, maxY, area: twice / 2, parts: points };
}

/** Joins chains that follow each other, or rings, each of which ends where it starts. */
async function joined(chains: readonly Chain[], areRings: boolean, pace: Pace): Promise<Chain> {
  let level = chains;
  do {
    const next: Chain[] = [];
    for (let i = 0; i < level.length; i += PARTS_PER_CHAIN) {
      next.push(parentOf(level.slice(i, i + PARTS_PER_CHAIN), areRings));
      if (next.length % CHAINS_PER_STEP === 0) await pace(POINTS_PER_STEP);
    }
    level = next;
  } while (level.length > 1);
  return level[0] ?? leafOf(new Float64Array(2));
}

function parentOf(parts: readonly Chain[], areRings: boolean): Chain {
  const { startX = 0, startY = 0 } = parts[0] ?? {};
  const { endX, endY } = (areRings ? null : parts.at(-1)) ?? { endX: startX, endY: startY };
  let twice = (startX - endX) * (endY - startY);
  for (const part of parts)
    twice += 2 * part.area + (part.endX - part.startX) * (part.endY - startY + (part.startY - startY));
  return { startX, startY, endX, endY, ...boundsAround(parts), area: twice / 2, parts };
}
