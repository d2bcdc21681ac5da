/**
 * Polls the shapes of areas in GeoPackages and PostGIS, on the node that leads. A changed shape is first recorded with
 * the places that it changes, then used by all processes and nodes, then tiles in those places are marked. A step that
 * a crash prevents is done by the next poll.
 */
import type { Areas, KeptArea } from '../catalog/areas.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogEntries } from '../catalog/catalog-entries.ts';
import { REMEMBERED } from '../catalog/incarnations.ts';
import { dropShape, keepShape } from '../catalog/kept-shapes.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { ShapeReader } from '../catalog/read-area.ts';
import type { Lead } from '../db/database.ts';
import { bytesOf } from '../domain/area-shape.ts';
import { polygonOfBounds } from '../domain/bounds.ts';
import type { NamedArea } from '../domain/named-area.ts';
import type { Env } from '../lib/env.ts';
import { repeat } from '../lib/repeat.ts';
import type { ChangeApplier } from './apply-changes.ts';
import { readStats } from './feeds/file-feed.ts';

interface AreaWatchOptions extends Env {
  readonly areas: Areas;
  readonly areaThread: { readonly readArea: ShapeReader };
  readonly entries: Pick<CatalogEntries, 'put' | 'remove'>;
  readonly catalog: Pick<Catalog, 'layerNames'> & {
    declaration(name: string): Pick<LayerDeclaration, 'areas'> | null;
  };
  /** Resolves when every process and node uses what `entries` has. */
  readonly announce: () => Promise<void>;
  readonly apply: ChangeApplier['apply'];
  readonly lead: Lead;
}

const POLL_INTERVAL_MS = 1000;
/** Between checks of the date of a file. */
const FILE_INTERVAL_MS = 2000;
const WATCH = 'area-watch';
/** A shape is stored in one of them, the next shape of the area in the other. */
const SLOTS = [0, 1] as const;
/** Pixels: an edge is drawn smoothly. */
const BUFFER = 1;

export function openAreaWatch(options: AreaWatchOptions) {
  const { lead, clock, log } = options;
  const pace = { clock, log, pause: POLL_INTERVAL_MS, failure: 'areas could not be read' };
  return lead((signal) => repeat(createAreaPoll(options), pace, signal));
}

/** Returns a function that reads all due areas once. */
export function createAreaPoll(options: AreaWatchOptions) {
  const { areas, areaThread, entries, catalog, announce, apply, clock, log } = options;
  /** By name and declaration: areas of the same query, or file, have the same digest. */
  const keyOfArea = ({ name, digest }: NamedArea) => `${digest} ${name}`;
  const due = new Map<string, number>();
  const stamps = new Map<string, number>();

  async function readShape(area: NamedArea): Promise<void> {
    const { name, digest, source, srs } = area;
    const before = areas.kept(area);
    if (before?.unmarked || before?.unusedSince !== undefined) await mark(area, before);
    if (!source) return;
    const kept = areas.kept(area);
    try {
      const stamp = 'file' in source ? (await readStats(source.file, source.file)).mtimeMs : null;
      const isWhole = kept !== null && kept.shape !== null && kept.error === null;
      if (isWhole && stamp !== null && stamps.get(keyOfArea(area)) === stamp) return;
      await keep(area, kept, await areaThread.readArea(source, srs, areas.byName.get(name) ?? area));
      if (stamp !== null) stamps.set(keyOfArea(area), stamp);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (kept?.error === message) return;
      log.warn({ area: name, reason: message }, 'an area could not be read; its last known shape is used');
      const empty = {
        declared: digest,
        srs,
        shape: null,
        bytes: 0,
        slot: '',
        points: 0,
        bounds: area.bounds,
      };
      await put(name, { ...(kept ?? { ...empty, updatedAt: clock.now() }), error: message });
    }
  }

  async function keep(
    area: NamedArea,
    kept: KeptArea | null,
    { srs, shape, boxes, points, bounds, digest }: Awaited<ReturnType<ShapeReader>>,
  ): Promise<void> {
    if (kept?.shape === digest) {
      if (kept.error !== null) await put(area.name, { ...kept, error: null });
      return;
    }
    const slot = slotOf(area.name, kept?.slot === slotOf(area.name, 0) ? 1 : 0);
    await keepShape(entries, slot, shape);
    const place = { declared: area.digest, srs, shape: digest, bytes: bytesOf(shape).length, slot };
    const next = { ...place, points, bounds, updatedAt: clock.now(), error: null };
    const hadShape = kept !== null && kept.shape !== null;
    const changed = { ...next, ...(hadShape && { unmarked: { srs, boxes } }) };
    await put(area.name, changed);
    log.info({ area: area.name }, 'the shape of an area has changed');
    if (hadShape) await mark(area, changed);
  }

  /** Marks the recorded places, then removes them from the record. The area is in use. */
  async function mark({ name }: NamedArea, { unusedSince: _, ...kept }: KeptArea): Promise<void> {
    if (kept.unmarked) await markTiles(name, kept.unmarked);
    await put(name, { ...kept, unmarked: undefined });
  }

  async function markTiles(name: string, { srs, boxes }: NonNullable<KeptArea['unmarked']>): Promise<void> {
    const layers = [...catalog.layerNames()].filter((layer) => catalog.declaration(layer)?.areas.has(name));
    const place = boxes && { srs, polygons: boxes.map(polygonOfBounds) };
    const rules = { action: 'truncate', buffer: BUFFER } as const;
    await apply({ name: `area:${name}`, layers, ...rules }, [{ layers: null, place }]);
  }

  /**
   * An area that is declared again within some days finds its shape, so that tiles are marked only where it has changed. Later
   * all of its tiles are marked: they may have been clipped to any shape.
   */
  async function forgetUnused(): Promise<void> {
    for (const [name, kept] of areas.unused()) {
      const { unusedSince = clock.now(), srs, slot } = kept;
      if (kept.unusedSince === undefined) await put(name, { ...kept, unusedSince });
      if (slot === '' || unusedSince > clock.now() - REMEMBERED) continue;
      const forgotten = { ...kept, shape: null, bytes: 0, unmarked: { srs, boxes: null } };
      await put(name, forgotten);
      for (const number of SLOTS) await dropShape(entries, slotOf(name, number));
      await put(name, { ...forgotten, slot: '' });
    }
  }

  async function put(name: string, document: KeptArea): Promise<void> {
    await entries.put({ kind: 'area', name, document, changedBy: WATCH });
    await announce();
  }

  return async (): Promise<void> => {
    await forgetUnused();
    const failures: unknown[] = [];
    for (const area of areas.byName.values()) {
      if (!area.source || clock.monotonic() < (due.get(keyOfArea(area)) ?? 0)) continue;
      const next = clock.monotonic() + ('every' in area.source ? 1000 * area.source.every : FILE_INTERVAL_MS);
      await readShape(area).then(
        () => due.set(keyOfArea(area), next),
        (error: unknown) => failures.push(error),
      );
    }
    if (failures.length > 0) throw failures[0];
  };
}

function slotOf(name: string, number: (typeof SLOTS)[number]): string {
  return `${name}/${number}`;
}
