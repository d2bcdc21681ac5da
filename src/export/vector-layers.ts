import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type Database from 'better-sqlite3';
import { isGzip } from '../lib/gzip.ts';
import { readFields, readPacked } from '../lib/protobuf.ts';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** MBTiles 1.3: the types of attributes. */
type FieldType = 'Number' | 'Boolean' | 'String';

/** A layer of a vector tile. */
export interface TileLayer {
  readonly id: string;
  readonly fields: Readonly<Record<string, FieldType>>;
}

interface VectorLayer extends TileLayer {
  readonly minzoom: number;
  readonly maxzoom: number;
}

/** Mapbox Vector Tile 2.1, 4: fields of a tile, a layer, a feature and a value. */
const LAYER = 3;
const NAME = 1;
const FEATURE = 2;
const KEY = 3;
const VALUE = 4;
const TAGS = 2;
const STRING_VALUE = 1;
const BOOL_VALUE = 7;
/** Bytes of an unpacked tile; the same limit as for the cache. */
const MAX_TILE_BYTES = 32 * 2 ** 20;
/** Limits of memory: the names in tiles may be random. */
const MAX_LAYERS = 500;
const MAX_FIELDS = 500;

/** Packs a vector tile with gzip, as in MBTiles 1.3 and our PMTiles, and reads its layers. */
export async function packVectorTile(
  bytes: Buffer,
): Promise<{ readonly bytes: Buffer; readonly layers: readonly TileLayer[] }> {
  if (!isGzip(bytes)) return { bytes: await zip(bytes), layers: readTileLayers(bytes) };
  // Tiles that cannot be unpacked are copied unchanged and add no layers.
  const unpacked = await unzip(bytes, { maxOutputLength: MAX_TILE_BYTES }).catch(() => null);
  return { bytes, layers: unpacked ? readTileLayers(unpacked) : [] };
}

function readTileLayers(tile: Buffer): readonly TileLayer[] {
  const layers: TileLayer[] = [];
  readFields(tile, (field, content) => {
    if (field === LAYER && content) layers.push(layerIn(content));
    return true;
  });
  return layers;
}

function layerIn(layer: Buffer): TileLayer {
  const parts = new Map<number, Buffer[]>([NAME, FEATURE, KEY, VALUE].map((field) => [field, []]));
  readFields(layer, (field, content) => {
    if (content) parts.get(field)?.push(content);
    return true;
  });
  const all = (field: number) => parts.get(field) ?? [];
  const keys = all(KEY).map(String);
  return { id: String(all(NAME)[0] ?? ''), fields: fieldTypes(keys, all(VALUE).map(typeIn), all(FEATURE)) };
}

/** The types of attributes by name, each from the first feature that has it. */
function fieldTypes(
  keys: readonly string[],
  types: readonly FieldType[],
  features: readonly Buffer[],
): Readonly<Record<string, FieldType>> {
  const byName = new Map<string, FieldType>();
  for (const feature of features) {
    if (byName.size === keys.length) break;
    for (const [key, type] of tagsOf(feature)) {
      const name = keys[key];
      if (name !== undefined && !byName.has(name)) byName.set(name, types[type] ?? 'String');
    }
  }
  return Object.fromEntries(byName);
}

function tagsOf(feature: Buffer): readonly (readonly [key: number, value: number])[] {
  const numbers: number[] = [];
  readFields(feature, (field, content) => {
    if (field === TAGS && content) for (const number of readPacked(content)) numbers.push(number);
    return true;
  });
  return numbers.flatMap((key, index) => (index % 2 === 0 ? [[key, numbers[index + 1] ?? -1]] : []));
}

function typeIn(value: Buffer): FieldType {
  let type: FieldType = 'Number';
  readFields(value, (field) => {
    if (field === STRING_VALUE) type = 'String';
    if (field === BOOL_VALUE) type = 'Boolean';
    return true;
  });
  return type;
}

export const LAYERS_TABLE = 'export_layers';

type LayerNotes = ReturnType<typeof createLayerNotes>;

/** Layers of an unfinished archive, stored with its tiles for another attempt. */
export function createLayerNotes(db: Database.Database) {
  db.exec(
    `CREATE TABLE IF NOT EXISTS ${LAYERS_TABLE} (id TEXT PRIMARY KEY, layer TEXT NOT NULL) WITHOUT ROWID`,
  );
  const keep = db.prepare(`INSERT OR REPLACE INTO ${LAYERS_TABLE} VALUES (?, ?)`);
  const rows = db.prepare<[], string>(`SELECT layer FROM ${LAYERS_TABLE} ORDER BY id`).pluck().all();
  const known = new Map(
    rows.map((text) => JSON.parse(text) as VectorLayer).map((layer) => [layer.id, layer]),
  );

  function note(z: number, layer: TileLayer): void {
    const before = known.get(layer.id);
    if (!before && known.size >= MAX_LAYERS) return;
    const after = withTileLayer(before ?? { id: layer.id, fields: {}, minzoom: z, maxzoom: z }, z, layer);
    if (after === before) return;
    known.set(layer.id, after);
    keep.run(layer.id, JSON.stringify(after));
  }

  return {
    /** Call it in the transaction that stores the tiles. */
    add(tiles: Iterable<{ readonly z: number; readonly layers: readonly TileLayer[] }>): void {
      for (const { z, layers } of tiles) for (const layer of layers) note(z, layer);
    },
    list: (): readonly VectorLayer[] => [...known.values()],
  };
}

/** The same object when the tile has nothing new. */
function withTileLayer(before: VectorLayer, z: number, { fields }: TileLayer): VectorLayer {
  const changed = Object.entries(fields).filter(([name, type]) => {
    const known = Object.hasOwn(before.fields, name) ? before.fields[name] : undefined;
    return known === undefined
      ? Object.keys(before.fields).length < MAX_FIELDS
      : mixed(known, type) !== known;
  });
  if (changed.length === 0 && z >= before.minzoom && z <= before.maxzoom) return before;
  const added = changed.map(([name, type]) => [name, mixed(before.fields[name] ?? type, type)] as const);
  return {
    ...before,
    fields: { ...before.fields, ...Object.fromEntries(added) },
    minzoom: Math.min(before.minzoom, z),
    maxzoom: Math.max(before.maxzoom, z),
  };
}

/** MBTiles 1.3: an attribute with several types is text. */
function mixed(known: FieldType, other: FieldType): FieldType {
  return known === other ? known : 'String';
}

/** Layers in an archive's metadata: the source's own description if it has one, otherwise what its tiles have. */
export function describedLayers(described: readonly unknown[], notes: LayerNotes): readonly object[] {
  const valid = described.filter(isDescription).map((layer) => ({ fields: {}, ...layer }));
  return valid.length > 0 ? valid : notes.list();
}

function isDescription(layer: unknown): layer is { readonly id: string } {
  return typeof layer === 'object' && layer !== null && 'id' in layer && typeof layer.id === 'string';
}
