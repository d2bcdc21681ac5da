import type { Bounds } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { MeasuredShape, NamedArea } from '../domain/named-area.ts';
import type { AreaPlacer } from '../domain/placed-area.ts';
import { isRecord } from '../lib/value-path.ts';
import type { CatalogEntries } from './catalog-entries.ts';
import { readShape } from './kept-shapes.ts';

/** A shape as the database keeps it: the last known one, in all processes and nodes. */
export interface KeptArea {
  /** `digest` of the declaration that it was read for. */
  readonly declared: string;
  readonly srs: number;
  /** Digest of the shape; null: it was never read. */
  readonly shape: string | null;
  /** Length of the shape, and the name (slot) under which `kept-shapes.ts` stores it. */
  readonly bytes: number;
  readonly slot: string;
  readonly points: number;
  readonly bounds: Bounds;
  readonly updatedAt: number;
  readonly error: string | null;
  /** Tiles here are clipped to the former shape, and not yet marked as outdated; absent: there are none. */
  readonly unmarked?: ChangedArea | undefined;
  /** Since when the configuration file has no source for it; absent: it has one. Milliseconds since 1970. */
  readonly unusedSince?: number | undefined;
}

interface ChangedArea {
  readonly srs: number;
  /** Null: everywhere. */
  readonly boxes: readonly Bounds[] | null;
}

/** Points that are converted in some milliseconds. */
const FEW_POINTS = 20_000;

export type Areas = ReturnType<typeof createAreas>;

interface ReadArea {
  readonly kept: KeptArea;
  /** Null: it was never read. */
  readonly measured: MeasuredShape | null;
}

/** The areas that this process uses: those of the configuration file, with the shapes that were read last. */
export function createAreas(
  declared: ReadonlyMap<string, NamedArea>,
  entries: Pick<CatalogEntries, 'get'>,
  placer: AreaPlacer,
) {
  const current = new Map<string, NamedArea>();
  const read = new Map<string, ReadArea>();

  function apply(area: NamedArea): void {
    const known = area.source && read.get(area.name);
    const now =
      known?.kept.declared === area.digest
        ? {
            ...area,
            ...(known.measured && { ...known.measured, digest: area.digest }),
            ...(known.measured && { updatedAt: known.kept.updatedAt }),
            error: known.kept.error,
          }
        : area;
    current.set(area.name, now.points > FEW_POINTS ? { ...now, placer } : now);
  }

  for (const area of declared.values()) apply(area);

  return {
    byName: current as ReadonlyMap<string, NamedArea>,
    /** An area of a layer's declaration, with its current shape. Throws `source-unavailable` if it was never read. */
    shapeOf(area: NamedArea): NamedArea {
      const known = current.get(area.name);
      const now = known && (area.source || known.digest === area.digest) ? known : area;
      if (now.points > 0) return now;
      // The reason may name a server or a folder, and any client may read this.
      throw new TilewardenError('source-unavailable', `The area ${area.name} could not be read yet.`);
    },
    /** Null: it was never read, or was declared otherwise. */
    kept({ name, digest }: NamedArea): KeptArea | null {
      const known = read.get(name)?.kept;
      return known?.declared === digest ? known : null;
    },
    /** Records of areas that the configuration file does not read from a source now. */
    unused: (): readonly (readonly [name: string, kept: KeptArea])[] =>
      [...read].flatMap(([name, { kept }]) => (current.get(name)?.source ? [] : [[name, kept] as const])),
    /** Applies the configuration file after it was read again. */
    declare(next: ReadonlyMap<string, NamedArea>): void {
      for (const name of [...current.keys()]) if (!next.has(name)) current.delete(name);
      for (const area of next.values()) apply(area);
    },
    /** Applies the changed record of an area. */
    async take(name: string, document: unknown): Promise<void> {
      // Earlier versions kept the points in the record.
      if (!isRecord(document) || document.slot === undefined) return;
      const kept = document as unknown as KeptArea;
      const before = read.get(name)?.measured;
      if (kept.shape === null || before?.digest === kept.shape)
        read.set(name, { kept, measured: before ?? null });
      else {
        const { srs, bytes, points, bounds, shape: digest } = kept;
        const shape = await readShape(entries, kept.slot, { srs, bytes, shape: digest });
        if (!shape) return;
        read.set(name, { kept, measured: { srs, shape, bounds, points, digest } });
      }
      const area = current.get(name);
      if (area) apply(area);
    },
  };
}

/** Whether two lists of areas clip in the same way. */
export function sameAreas(a: ReadonlyMap<string, NamedArea>, b: ReadonlyMap<string, NamedArea>): boolean {
  return a.size === b.size && [...a].every(([name, { digest }]) => b.get(name)?.digest === digest);
}
