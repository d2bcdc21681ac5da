/**
 * Incarnations: the part of a tile set's identity that makes tiles of another declaration unreachable.
 *
 * A layer's tiles depend on three facets of its declaration: its source, its default parameters and the geometry of
 * each grid set. The record of a layer lists, for each facet, the digests that were declared lately, each with a number
 * that was given out when it was first declared. The incarnation of a tile set is made of the numbers of the facets
 * that it depends on. A process looks up the digests of the declaration that it uses itself, so that what it reads and
 * writes always belongs to that declaration, whichever other processes have changed since.
 *
 *   change                     record                                   tiles made before
 *   first declared             one digest for each facet                unreachable, if there are any
 *   nothing that matters       the same                                 the same set
 *   source, tiles=stale        a new digest with a new number           unreachable, and kept for seven days
 *   source, tiles=drop         only a new digest with a new number      unreachable
 *   source, tiles=keep         a new digest with the same number        the same set
 *   defaults or geometry       only a new digest with a new number      unreachable
 *   any of these in the file   a new digest with a new number           unreachable, and kept for seven days
 *   declared as before         that digest comes first again            reachable again, if they were kept
 *   removed                    no digests                               unreachable
 *
 * The tiles of a layer that is drawn from others are as old as the tiles below: behind its own numbers its incarnation
 * has those of the tile sets that it is drawn from.
 */
import { createHash } from 'node:crypto';
import type { GridSet, GridSetRegistry } from '../domain/grid-set.ts';
import { RETINA_SUFFIX } from '../domain/grid-subset.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { isRecord } from '../lib/value-path.ts';
import { partsOf, SOURCE_DRIVERS } from '../sources/drivers.ts';
import type { LayerDeclaration } from './layer-declaration.ts';

/** The fate of tiles that a change of the source makes doubtful. */
export const TILE_CHOICES = ['keep', 'stale', 'drop'] as const;
export type TileChoice = (typeof TILE_CHOICES)[number];

/** Digests of the settings that a layer's tiles depend on. */
export interface TileFacets {
  readonly source: string;
  readonly defaults: string;
  /** By the grid set's own name. */
  readonly gridSets: ReadonlyMap<string, string>;
  /** The layers that it is drawn from. */
  readonly below: readonly string[];
}

interface FacetEntry {
  readonly digest: string;
  /** The number, with the digest that it belongs to, so that tiles identify their declaration. */
  readonly incarnation: string;
  /** When it was last declared. Milliseconds since 1970. */
  readonly at: number;
}

/** Each list has the latest declaration first. */
export interface TileRecord {
  readonly source: readonly FacetEntry[];
  readonly defaults: readonly FacetEntry[];
  /** By the digest of a source that is drawn from other layers: their names. */
  readonly below?: Readonly<Record<string, readonly string[]>>;
  readonly gridSets: Readonly<Record<string, readonly FacetEntry[]>>;
}

/** A layer with this record has no earlier tiles. */
export const REMOVED: TileRecord = { source: [], defaults: [], gridSets: {} };

/** Milliseconds for which a former declaration finds its tiles again. */
export const REMEMBERED = 7 * 86_400_000;
/** Declarations that find their tiles again. */
const MAX_ENTRIES = 8;

export function facetsOf(
  declaration: Pick<LayerDeclaration, 'source' | 'parameters' | 'gridSets'> &
    Partial<Pick<LayerDeclaration, 'areas' | 'within' | 'background'>>,
  registry: GridSetRegistry,
): TileFacets {
  const names = declaration.gridSets.map((subset) => (typeof subset === 'string' ? subset : subset.name));
  const gridSets = names.flatMap((name) => registry.find(name) ?? []);
  const defaults = declaration.parameters
    .map(({ name, default: value }) => [name.toUpperCase(), String(value)])
    .filter(([, value]) => value !== '');
  return {
    source: digestOf(clippedOptions(declaration)),
    defaults: digestOf(defaults.sort()),
    gridSets: new Map(gridSets.map((gridSet) => [gridSet.name, geometryOf(gridSet)])),
    below: layersBelow(declaration.source).map(({ layer }) => layer),
  };
}

/** Name of tiles without a number. */
const FIRST_NAME = '0';
/** An unknown digest, which matches the next declaration. */
const ANY = '';

interface Declared {
  readonly facets: TileFacets;
  readonly at: number;
  /** Null: `stale` for the source, `drop` for the others. */
  readonly choice: TileChoice | null;
  /** A number that was never given out before. */
  readonly fresh: number;
  /** The number for a layer without a record. */
  readonly first: number;
}

/** The record after a declaration; the same object when the declaration is the current one. */
export function declaredIn(record: TileRecord | null, declared: Declared): TileRecord {
  const { facets, choice } = declared;
  const source = entriesAfter(record?.source, facets.source, declared, choice ?? 'stale');
  const others = choice === 'stale' ? 'stale' : 'drop';
  const defaults = entriesAfter(record?.defaults, facets.defaults, declared, others);
  const gridSets = { ...record?.gridSets };
  let changed = source !== record?.source || defaults !== record?.defaults;
  for (const [name, digest] of facets.gridSets) {
    const known = record ? (record.gridSets[name] ?? []) : undefined;
    const entries = entriesAfter(known, digest, declared, others);
    changed ||= entries !== known;
    gridSets[name] = entries;
  }
  return record && !changed ? record : { source, defaults, gridSets, ...belowOf(record, source, facets) };
}

function belowOf(
  record: TileRecord | null,
  source: readonly FacetEntry[],
  facets: TileFacets,
): Pick<TileRecord, 'below'> {
  const below = { ...record?.below, ...(facets.below.length > 0 && { [facets.source]: facets.below }) };
  const kept = Object.entries(below).filter(([digest]) => source.some((entry) => entry.digest === digest));
  return kept.length === 0 ? {} : { below: Object.fromEntries(kept) };
}

/** Gives sources with these digests a new number: their tiles made until now become unreachable. */
export function renumbered(record: TileRecord, digests: ReadonlySet<string>, fresh: number): TileRecord {
  const source = record.source.map((entry) =>
    digests.has(entry.digest) ? { ...entry, incarnation: nameFor(fresh, entry.digest) } : entry,
  );
  return { ...record, source };
}

function entriesAfter(
  known: readonly FacetEntry[] | undefined,
  digest: string,
  { at, fresh, first }: Declared,
  choice: TileChoice,
): readonly FacetEntry[] {
  if (!known) return [{ digest, incarnation: nameFor(first, digest), at }];
  const [current] = known;
  if (current?.digest === digest) return known;
  if (current?.digest === ANY) return [{ ...current, digest, at }];
  if (choice === 'drop' || !current) return [{ digest, incarnation: nameFor(fresh, digest), at }];
  const before = known.find((entry) => entry.digest === digest);
  const others = known.filter((entry) => entry !== before).slice(0, MAX_ENTRIES - 1);
  if (before) return [{ ...before, at }, ...others];
  const incarnation = choice === 'keep' ? current.incarnation : nameFor(fresh, digest);
  return [{ digest, incarnation, at }, ...others];
}

/** Without entries replaced before a time; the same object if there are none. */
export function forgotten(record: TileRecord, before: number): TileRecord {
  const shortened = (entries: readonly FacetEntry[]): readonly FacetEntry[] => {
    const [current, ...others] = entries;
    return current && others.length > 0 && current.at < before ? [current] : entries;
  };
  const source = shortened(record.source);
  const defaults = shortened(record.defaults);
  const gridSets = Object.entries(record.gridSets).map(([name, list]) => [name, shortened(list)] as const);
  const same =
    source === record.source &&
    defaults === record.defaults &&
    gridSets.every(([name, list]) => list === record.gridSets[name]);
  return same ? record : { ...record, source, defaults, gridSets: Object.fromEntries(gridSets) };
}

/**
 * The incarnation of a tile set under the declaration with these facets; null: the declaration is not recorded, and its
 * tiles are not kept. A layer that no server has recorded yet has ''.
 */
export function incarnationIn(
  record: TileRecord | null,
  facets: TileFacets,
  set: Pick<TileSetKey, 'gridSet' | 'parametersId'>,
): string | null {
  if (!record) return '';
  const gridSet = plainName(set.gridSet);
  const source = record.source.find(({ digest }) => digest === facets.source);
  const grid = record.gridSets[gridSet]?.find(({ digest }) => digest === facets.gridSets.get(gridSet));
  const defaults = record.defaults.find(({ digest }) => digest === facets.defaults);
  if (!source || !grid || !defaults) return null;
  return joinedName(
    source.incarnation,
    grid.incarnation,
    set.parametersId === null ? defaults.incarnation : FIRST_NAME,
  );
}

/** Separates the numbers of a layer from those of the layers that it is drawn from, each in parentheses. */
const BELOW = '~';

/** Joint name of a layer and the layers below; null: one of them stores no tiles. */
export function joinedIncarnation(own: string | null, below: readonly (string | null)[]): string | null {
  if (own === null || below.includes(null)) return null;
  return below.some((name) => name !== '') ? `${own}${BELOW}(${below.join(')(')})` : own;
}

/** `below`: in the order of the parts; empty if all of them are ''. */
export function splitIncarnation(incarnation = ''): {
  readonly own: string;
  readonly below: readonly string[];
} {
  const [own = ''] = incarnation.split(BELOW, 1);
  const below: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = own.length; at < incarnation.length; at++) {
    if (incarnation[at] === '(' && depth++ === 0) start = at + 1;
    if (incarnation[at] === ')' && --depth === 0) below.push(incarnation.slice(start, at));
  }
  return { own, below };
}

interface LayerBelow {
  readonly layer: string;
  /** Undefined: any. */
  readonly gridSet: string | undefined;
}

/** The layers that a source is drawn from, in the order of its parts. */
export function layersBelow(source: unknown): readonly LayerBelow[] {
  return partsOf(source).flatMap(({ layer, gridSet }) => (layer === undefined ? [] : [{ layer, gridSet }]));
}

/** Whether a declaration that the record still has can reach tiles of this set; layers below are not checked. */
export function isReachable(record: TileRecord, set: TileSetKey): boolean {
  const names = (entries: readonly FacetEntry[] = []) => entries.map(({ incarnation }) => incarnation);
  const sources = names(record.source);
  const grids = names(record.gridSets[plainName(set.gridSet)]);
  const defaults = set.parametersId === null ? names(record.defaults) : [FIRST_NAME];
  const { own } = splitIncarnation(set.incarnation);
  return sources.some((source) =>
    grids.some((grid) => defaults.some((other) => joinedName(source, grid, other) === own)),
  );
}

/**
 * The record of a layer whose database was lost, from the tile sets that a store still has. A declaration finds the
 * tiles again that were made by it; what `record` has declared since keeps its place.
 */
export function rebuiltRecord(
  record: TileRecord | null,
  sets: readonly TileSetKey[],
  at: number,
): TileRecord {
  const named = sets.map((set) => ({
    set,
    names: (splitIncarnation(set.incarnation).own || NAMELESS).split('-'),
  }));
  const entries = (known: readonly FacetEntry[] | undefined, place: number, of: typeof named) => {
    const rebuilt = entriesNamed(new Set(of.flatMap(({ names }) => names[place] ?? [])), at);
    return known?.map((entry) => rebuilt.find(({ digest }) => digest === entry.digest) ?? entry) ?? rebuilt;
  };
  const ofGrid = (name: string) => named.filter(({ set }) => plainName(set.gridSet) === name);
  const grids = new Set([
    ...Object.keys(record?.gridSets ?? {}),
    ...sets.map((set) => plainName(set.gridSet)),
  ]);
  const gridSets = [...grids].map((name) => [name, entries(record?.gridSets[name], 1, ofGrid(name))]);
  const ofDefaults = named.filter(({ set }) => set.parametersId === null);
  return {
    source: entries(record?.source, 0, named),
    defaults: entries(record?.defaults, 2, ofDefaults),
    gridSets: Object.fromEntries(gridSets),
  };
}

/** The latest first. Tiles without a number count only where no others are. */
function entriesNamed(names: ReadonlySet<string>, at: number): readonly FacetEntry[] {
  const numbered = [...names].flatMap((incarnation) => {
    const [number = '', digest = ANY] = incarnation.split('.');
    return digest === ANY ? [] : [{ digest, incarnation, at, number: Number.parseInt(number, 36) }];
  });
  if (numbered.length === 0) return [{ digest: ANY, incarnation: FIRST_NAME, at }];
  return numbered.sort((a, b) => b.number - a.number).map(({ number: _, ...entry }) => entry);
}

const NAMELESS = [FIRST_NAME, FIRST_NAME, FIRST_NAME].join('-');

function joinedName(...names: readonly string[]): string {
  const name = names.join('-');
  return name === NAMELESS ? '' : name;
}

function nameFor(number: number, digest: string): string {
  return number === 0 ? FIRST_NAME : `${number.toString(36)}.${digest}`;
}

/** The grid set's own name: dense tiles have a suffix, and the same places. */
export function plainName(gridSet: string): string {
  return gridSet.endsWith(RETINA_SUFFIX) ? gridSet.slice(0, -RETINA_SUFFIX.length) : gridSet;
}

const geometries = new WeakMap<GridSet, string>();

/** A digest that is equal for grid sets with the same tiles. */
export function geometryOf(gridSet: GridSet): string {
  return getOrCreate(geometries, gridSet, () => {
    const { srs, extent, tileWidth, tileHeight, levels } = gridSet;
    const ladder = levels.map(({ resolution, columns, rows, top }) => [resolution, columns, rows, top]);
    return digestOf([srs, extent, tileWidth, tileHeight, ladder]);
  });
}

/** All settings that a picture depends on: the source, and the clipping shapes. */
function clippedOptions({
  source,
  areas = new Map(),
  within,
  background,
}: Parameters<typeof facetsOf>[0]): unknown {
  const options = pictureOptions(source);
  if (areas.size === 0) return options;
  const shapes = Array.from(areas, ([name, { digest }]) => [name, digest]).sort();
  return { options, within, background, shapes };
}

/** The options of a source without those that its driver lists as `connection`, such as timeouts and credentials. */
function pictureOptions(source: unknown): unknown {
  if (!isRecord(source)) return source;
  const driver = SOURCE_DRIVERS.find(({ type }) => type === source.type);
  const connection: ReadonlySet<string> = new Set(driver?.connection);
  const options = Object.fromEntries(Object.entries(source).filter(([name]) => !connection.has(name)));
  if (source.type !== 'layers') return options;
  return {
    ...options,
    of: partsOf(source).map((part) => ({ ...part, source: pictureOptions(part.source) })),
  };
}

/** A hash, so that secrets in the value cannot be read from it. */
function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
