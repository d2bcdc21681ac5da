import { type Bounds, boundsAround, boundsOfPoints, type Polygon } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { AreaReading, NamedArea } from '../domain/named-area.ts';
import { countPoints } from '../domain/place-in-grid-set.ts';
import type { Point } from '../domain/projection.ts';
import { isRecord } from '../lib/value-path.ts';
import { createPace } from '../lib/yielding.ts';

/** A shape as the database keeps it: the last known one, in all processes and nodes. */
export interface KeptArea {
  /** `digest` of the declaration that it was read for. */
  readonly declared: string;
  readonly srs: number;
  /** Points of each ring of each polygon. */
  readonly rings: readonly (readonly number[])[];
  /** All of them: x and y in turn, doubles in base64. */
  readonly points: string;
  readonly bounds: Bounds;
  readonly updatedAt: number;
  readonly error: string | null;
  /** Tiles here were clipped to the former shape, and are not marked yet; absent: all are. */
  readonly unmarked?: ChangedArea | undefined;
}

interface ChangedArea {
  readonly srs: number;
  /** Null: everywhere. */
  readonly boxes: readonly Bounds[] | null;
}

const POINTS_PER_TURN = 50_000;
const POINTS_PER_STEP = 1024;

export type Areas = ReturnType<typeof createAreas>;

/** The areas that this process uses: those of the configuration file, with the shapes that were read last. */
export function createAreas(declared: ReadonlyMap<string, NamedArea>) {
  const current = new Map(declared);
  const read = new Map<string, { readonly kept: KeptArea; readonly shape: AreaReading }>();

  function apply(area: NamedArea): void {
    const known = area.source && read.get(area.name);
    if (known?.kept.declared !== area.digest) {
      current.set(area.name, area);
      return;
    }
    const { polygons, srs } = known.shape;
    const { bounds, updatedAt, error } = known.kept;
    if (polygons.length === 0) {
      current.set(area.name, { ...area, error });
      return;
    }
    const points = countPoints(polygons);
    current.set(area.name, { ...area, srs, polygons, points, bounds, updatedAt, error });
  }

  return {
    byName: current as ReadonlyMap<string, NamedArea>,
    /** An area of a layer's declaration, with its current shape. Throws `source-unavailable` if it was never read. */
    shapeOf(area: NamedArea): NamedArea {
      const now = area.source ? (current.get(area.name) ?? area) : area;
      if (now.polygons.length > 0) return now;
      // The reason may name a server or a folder, and any client may read this.
      throw new TilewardenError('source-unavailable', `The area ${area.name} could not be read yet.`);
    },
    /** Null: it was never read, or was declared otherwise. */
    kept({ name, digest }: NamedArea): KeptArea | null {
      const known = read.get(name)?.kept;
      return known?.declared === digest ? known : null;
    },
    /** The configuration file was read again. */
    declare(next: ReadonlyMap<string, NamedArea>): void {
      for (const name of [...current.keys()]) if (!next.has(name)) current.delete(name);
      for (const area of next.values()) apply(area);
    },
    /** The record of an area in the database has changed. */
    async take(name: string, document: unknown): Promise<void> {
      if (!isRecord(document)) return;
      const kept = document as unknown as KeptArea;
      read.set(name, { kept, shape: { srs: kept.srs, polygons: await unpackPolygons(kept) } });
      const area = current.get(name);
      if (area) apply(area);
    },
  };
}

/** Whether two lists of areas clip in the same way. */
export function sameAreas(a: ReadonlyMap<string, NamedArea>, b: ReadonlyMap<string, NamedArea>): boolean {
  return a.size === b.size && [...a].every(([name, { digest }]) => b.get(name)?.digest === digest);
}

type PackedPolygons = Pick<KeptArea, 'rings' | 'points' | 'bounds'>;

export async function packPolygons(polygons: readonly Polygon[]): Promise<PackedPolygons> {
  const pace = createPace(POINTS_PER_TURN);
  const rings = polygons.map((polygon) => polygon.map(({ length }) => length));
  const all = new Float64Array(2 * countPoints(polygons));
  const boxes: Bounds[] = [];
  let at = 0;
  for (const ring of polygons.flat()) {
    for (let from = 0; from < ring.length; from += POINTS_PER_STEP) {
      const points = ring.slice(from, from + POINTS_PER_STEP);
      for (const [x, y] of points) {
        all[at++] = x;
        all[at++] = y;
      }
      boxes.push(boundsOfPoints(points));
      await pace(points.length);
    }
  }
  return { rings, points: Buffer.from(all.buffer).toString('base64'), bounds: boundsAround(boxes) };
}

async function unpackPolygons({ rings, points }: Pick<KeptArea, 'rings' | 'points'>) {
  const pace = createPace(POINTS_PER_TURN);
  const bytes = Buffer.from(points, 'base64');
  const polygons: Polygon[] = [];
  let at = 0;
  for (const lengths of rings) {
    const polygon: Point[][] = [];
    for (const length of lengths) {
      const ring: Point[] = [];
      for (let i = 0; i < length; i++) {
        ring.push([bytes.readDoubleLE(at), bytes.readDoubleLE(at + 8)]);
        at += 16;
        if (i % POINTS_PER_STEP === 0) await pace(POINTS_PER_STEP);
      }
      polygon.push(ring);
    }
    polygons.push(polygon);
  }
  return polygons;
}
