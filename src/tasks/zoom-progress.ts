import { type AreaCover, countInTurns, VISITS_PER_TURN } from '../domain/area-cover.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import { createPace } from '../lib/yielding.ts';
import { firstSteps, pieceAt, rectsBefore, type TaskPlan } from './task-plan.ts';

export interface ZoomProgress {
  readonly z: number;
  readonly tiles: bigint;
  readonly processed: bigint;
}

/** How far a task is, as its row and those of its leases and failures have it. */
export interface TaskPosition {
  /** The first piece that was never leased. */
  readonly nextPiece: number;
  /** Pieces in flight, handed back, or left when the task was stopped. */
  readonly pieces: readonly { readonly piece: number; readonly doneSteps: number }[];
  /** Tiles of failed steps that wait for another attempt. */
  readonly waiting: readonly { readonly z: number; readonly tiles: bigint }[];
}

/** Counts rectangles, whatever the number of tiles and pieces: those before the cursor, less what is not done of them. */
export async function zoomProgress(
  plan: TaskPlan,
  cover: AreaCover | null,
  { nextPiece, pieces, waiting }: TaskPosition,
): Promise<readonly ZoomProgress[]> {
  const zooms = new Map<number, { z: number; tiles: bigint; processed: bigint }>();
  const pace = createPace(VISITS_PER_TURN);
  const count = (z: number, rect: TileRect) => countInTurns(cover, z, rect, pace);
  for (const { z, rect } of plan.levels) {
    const zoom = zooms.get(z) ?? { z, tiles: 0n, processed: 0n };
    zooms.set(z, { ...zoom, tiles: zoom.tiles + (await count(z, rect)) });
  }
  const add = (z: number, tiles: bigint) => {
    const zoom = zooms.get(z);
    if (zoom) zoom.processed += tiles;
  };
  for (const { z, rect } of rectsBefore(plan, nextPiece)) add(z, await count(z, rect));
  for (const { piece: ordinal, doneSteps } of pieces) {
    const piece = pieceAt(plan, ordinal);
    if (!piece) continue;
    add(piece.z, -(await count(piece.z, piece.rect)));
    for (const rect of firstSteps(plan, piece, doneSteps)) add(piece.z, await count(piece.z, rect));
  }
  for (const { z, tiles } of waiting) add(z, -tiles);
  return [...zooms.values()].sort((a, b) => a.z - b.z);
}
