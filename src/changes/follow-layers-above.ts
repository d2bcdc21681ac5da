/**
 * Truncations and invalidations of a layer also apply to the layers drawn from it. Tile events report the places; before a
 * truncation or invalidation is acknowledged, the layers above are marked there.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { polygonOfBounds } from '../domain/bounds.ts';
import { boundsOfRect, levelOf } from '../domain/grid-set.ts';
import { findGridSubset, type Layer } from '../domain/layer.ts';
import type { TileEvent, TileEvents } from '../domain/tile-events.ts';
import { blockAt, intersectRects, rectsIn } from '../domain/tile-rect.ts';
import type { ChangeApplier } from './apply-changes.ts';
import type { ChangedPlace } from './change.ts';

type Places = Extract<TileEvent, { type: 'outdated' }>['places'];

interface Outdated {
  readonly layer: string;
  readonly places: Places;
  readonly action: 'truncate' | 'invalidate';
}

interface FollowOptions {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly events: TileEvents;
  readonly applier: Pick<ChangeApplier, 'hasAbove' | 'applyAbove'>;
  /** For declarations of layers above that are not in use now, and may come back. */
  readonly outdateFormer: (layers: readonly string[]) => Promise<void>;
}

export function openLayersAbove({ catalog, events, applier, outdateFormer }: FollowOptions) {
  let waiting: Outdated[] = [];
  let running: Promise<void> | null = null;

  const close = events.subscribe((event) => {
    const outdated = outdatedBy(event);
    if (outdated) waiting.push(outdated);
  });

  async function applyWaiting(): Promise<void> {
    for (let next = waiting[0]; next; next = waiting[0]) {
      const layer = applier.hasAbove(next.layer) ? catalog.layer(next.layer)?.layer : null;
      if (layer) await applier.applyAbove(layer, placesIn(layer, next.places), next.action);
      await outdateFormer([next.layer]);
      waiting = waiting.filter((one) => one !== next);
    }
  }

  return {
    /** Resolves when the layers above obey every change made before; those changes are obeyed by all readers already. */
    async flush(): Promise<void> {
      if (waiting.length === 0 && !running) return;
      const mine = (running ?? Promise.resolve()).catch(() => {}).then(applyWaiting);
      running = mine;
      await mine.finally(() => {
        if (running === mine) running = null;
      });
    },
    close: async (): Promise<void> => close(),
  };
}

function outdatedBy(event: TileEvent): Outdated | null {
  if (event.type === 'layer-dropped') return { layer: event.layer, places: null, action: 'truncate' };
  if (event.type !== 'outdated' || !event.above) return null;
  return { layer: event.layer, places: event.places, action: event.above };
}

/** The deepest zoom of each grid set shows the area most closely. Null: the whole layer. */
function placesIn(layer: Layer, places: Places): readonly ChangedPlace[] | null {
  if (!places) return null;
  const changed: ChangedPlace[] = [];
  for (const name of new Set(places.map(({ gridSet }) => gridSet))) {
    const gridSet = findGridSubset(layer, name)?.gridSet;
    if (!gridSet) return null;
    const here = places.filter((place) => place.gridSet === name && place.z < gridSet.levels.length);
    const deepest = Math.max(...here.map(({ z }) => z));
    const { columns, rows } = levelOf(gridSet, Math.max(0, deepest));
    const polygons = here
      .filter(({ z }) => z === deepest)
      .flatMap(({ rect, parts }) => (parts ? [...rectsIn(parts)] : [rect]))
      .flatMap((part) => intersectRects(part, blockAt(0, 0, columns, rows)) ?? [])
      .map((part) => polygonOfBounds(boundsOfRect(gridSet, deepest, part)));
    changed.push({ srs: gridSet.srs, polygons });
  }
  return changed;
}
