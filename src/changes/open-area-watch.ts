/**
 * Polls the shapes of areas in GeoPackages and PostGIS, on the node that leads. A changed shape is first recorded with
 * the places that it changes, then used by all processes and nodes, then tiles in those places are marked. A step that
 * a crash prevents is done by the next poll.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type Areas, type KeptArea, packPolygons } from '../catalog/areas.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogEntries } from '../catalog/catalog-entries.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import { POINTS_PER_TURN, readArea } from '../catalog/read-area.ts';
import type { Lead } from '../db/database.ts';
import {
  type Bounds,
  boundsAround,
  boundsOfPoints,
  type Polygon,
  polygonOfBounds,
} from '../domain/bounds.ts';
import type { AreaSource, NamedArea } from '../domain/named-area.ts';
import type { Point } from '../domain/projection.ts';
import type { Env } from '../lib/env.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import { plainReason } from '../lib/plain-reason.ts';
import { openRepeater } from '../lib/repeat.ts';
import { createPace } from '../lib/yielding.ts';
import type { ChangeApplier } from './apply-changes.ts';
import { readStats } from './feeds/file-feed.ts';

interface AreaWatchOptions extends Env {
  readonly areas: Areas;
  readonly entries: Pick<CatalogEntries, 'put'>;
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
/** Beyond it one box is marked. */
const MAX_BOXES = 1000;
/** Pixels: an edge is drawn smoothly. */
const BUFFER = 1;

export function openAreaWatch(options: AreaWatchOptions) {
  const { lead, clock, log } = options;
  const failure = 'areas could not be read';
  return lead(async (signal) => {
    const poll = createAreaPoll(options);
    const repeater = openRepeater(poll, { clock, log, pause: POLL_INTERVAL_MS, failure });
    if (!signal.aborted) await once(signal, 'abort');
    await repeater.close();
  });
}

/** Returns a function that reads all due areas once. */
export function createAreaPoll({ areas, entries, catalog, announce, apply, clock, log }: AreaWatchOptions) {
  /** By declaration. */
  const due = new Map<string, number>();
  const stamps = new Map<string, number>();

  async function readShape(area: NamedArea): Promise<void> {
    const { name, digest, source, srs } = area;
    const before = areas.kept(area);
    if (before?.unmarked) await mark(area, before);
    if (!source) return;
    const kept = areas.kept(area);
    try {
      const stamp = 'file' in source ? (await readStats(source.file, source.file)).mtimeMs : null;
      if (kept && kept.error === null && stamp !== null && stamps.get(digest) === stamp) return;
      await keep(area, kept, await readArea(source, srs, clock));
      if (stamp !== null) stamps.set(digest, stamp);
    } catch (error) {
      const message = hideCredentials(reasonOf(error, source));
      if (kept?.error === message) return;
      log.warn({ area: name, reason: message }, 'an area could not be read; its last known shape is used');
      const empty = { declared: digest, srs, ...(await packPolygons([])), updatedAt: clock.now() };
      await put(name, { ...(kept ?? empty), error: message });
    }
  }

  async function keep(
    area: NamedArea,
    kept: KeptArea | null,
    { srs, polygons }: Pick<NamedArea, 'srs' | 'polygons'>,
  ): Promise<void> {
    const packed = await packPolygons(polygons);
    const isSame =
      kept?.srs === srs && kept.points === packed.points && `${kept.rings}` === `${packed.rings}`;
    if (kept && isSame) {
      if (kept.error !== null) await put(area.name, { ...kept, error: null });
      return;
    }
    const next = { declared: area.digest, srs, ...packed, updatedAt: clock.now(), error: null };
    const hadShape = kept !== null && kept.points !== '';
    const boxes = kept?.srs === srs ? await changedBoxes(area.polygons, polygons) : null;
    const changed = { ...next, ...(hadShape && { unmarked: { srs, boxes } }) };
    await put(area.name, changed);
    log.info({ area: area.name }, 'the shape of an area has changed');
    await mark(area, changed);
  }

  async function mark({ name }: NamedArea, { unmarked, ...kept }: KeptArea): Promise<void> {
    if (!unmarked) return;
    const { srs, boxes } = unmarked;
    const layers = [...catalog.layerNames()].filter((layer) => catalog.declaration(layer)?.areas.has(name));
    const place = boxes && { srs, polygons: boxes.map(polygonOfBounds) };
    const rules = { action: 'truncate', buffer: BUFFER } as const;
    await apply({ name: `area:${name}`, layers, ...rules }, [{ layers: null, place }]);
    await put(name, kept);
  }

  async function put(name: string, document: KeptArea): Promise<void> {
    await entries.put({ kind: 'area', name, document, changedBy: WATCH });
    await announce();
  }

  return async (): Promise<void> => {
    for (const area of areas.byName.values()) {
      if (!area.source || clock.monotonic() < (due.get(area.digest) ?? 0)) continue;
      const every = 'every' in area.source ? 1000 * area.source.every : FILE_INTERVAL_MS;
      due.set(area.digest, clock.monotonic() + every);
      await readShape(area);
    }
  };
}

/** With the place of a database; messages about files name them. */
function reasonOf(error: unknown, source: AreaSource): string {
  const reason = plainReason(error);
  return 'url' in source ? `${new URL(source.url).host}: ${reason}` : reason;
}

/** Around all places that are in one of the shapes and not in the other. */
async function changedBoxes(
  before: readonly Polygon[],
  after: readonly Polygon[],
): Promise<readonly Bounds[]> {
  const [old, fresh] = [await ringsByDigest(before), await ringsByDigest(after)];
  const gone = [...old].filter(([digest]) => !fresh.has(digest)).map(([, ring]) => ring);
  const added = [...fresh].filter(([digest]) => !old.has(digest)).map(([, ring]) => ring);
  const isSamePlan = `${before.map(({ length }) => length)}` === `${after.map(({ length }) => length)}`;
  const boxes =
    isSamePlan && gone.length === added.length
      ? gone.map((ring, index) => boundsOfPoints(differing(ring, added[index] ?? [])))
      : [...gone, ...added].map(boundsOfPoints);
  return boxes.length > MAX_BOXES ? [boundsAround(boxes)] : boxes;
}

async function ringsByDigest(polygons: readonly Polygon[]): Promise<ReadonlyMap<string, readonly Point[]>> {
  const pace = createPace(POINTS_PER_TURN);
  const rings = new Map<string, readonly Point[]>();
  for (const ring of polygons.flat()) {
    const { points } = await packPolygons([[ring]]);
    rings.set(createHash('sha1').update(points).digest('base64'), ring);
    await pace(ring.length);
  }
  return rings;
}

/** The points of both rings from the last one that they share at the start to the first that they share at the end. */
function differing(a: readonly Point[], b: readonly Point[]): readonly Point[] {
  const same = (p: Point | undefined, q: Point | undefined) => p?.[0] === q?.[0] && p?.[1] === q?.[1];
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && same(a[start], b[start])) start++;
  let end = 0;
  while (end < shorter - start && same(a.at(-1 - end), b.at(-1 - end))) end++;
  const part = (ring: readonly Point[]) =>
    ring.slice(Math.max(0, start - 1), ring.length - Math.max(0, end - 1));
  return [...part(a), ...part(b)];
}
