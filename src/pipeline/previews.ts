import { createHash } from 'node:crypto';
import type { BoundLayer, ChangeableCatalog } from '../catalog/catalog.ts';
import { createLayer } from '../catalog/create-layer.ts';
import type { DeclaredEntries, DocumentReader } from '../catalog/declared-entries.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import { invalid } from '../domain/errors.ts';
import { isHidden } from '../domain/grid-subset.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { isRecord } from '../lib/value-path.ts';
import type { SourceSettings } from '../sources/drivers.ts';
import type { TileSource } from '../sources/tile-source.ts';
import { createBlankTiles } from './blank-tiles.ts';
import { resolveTileSet } from './resolve-tile-set.ts';
import type { TilePipeline } from './tile-pipeline.ts';

interface PreviewOptions {
  readonly catalog: ChangeableCatalog<SourceSettings>;
  readonly declared: Pick<DeclaredEntries<SourceSettings>, 'documentOf'>;
  readonly reader: DocumentReader<SourceSettings>;
  readonly openSource: (declaration: LayerDeclaration<SourceSettings>) => TileSource;
  readonly pipeline: Pick<TilePipeline, 'read'>;
}

/** Sources that stay open, for previews that administrators have on screen. */
const MAX_OPEN = 8;
const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

/** Tiles of a layer that is not yet declared, made as usual but not cached. */
export function openPreviews({ catalog, declared, reader, openSource, pipeline }: PreviewOptions) {
  const blank = createBlankTiles();
  const open = new Map<string, { readonly bound: BoundLayer; readonly source: TileSource }>();

  function boundTo(sent: unknown): BoundLayer {
    // Secrets that the editor shows hidden are those of the stored layer.
    const stored = isRecord(sent) ? declared.documentOf(String(sent.name)) : null;
    const document = reader.restored(sent, stored);
    // Flights are joined by the layer's name, so each document needs a name of its own.
    const name = `preview ${createHash('sha1').update(JSON.stringify(document)).digest('hex')}`;
    const known = open.get(name);
    if (known) return known.bound;
    const declaration = reader.layer(document, catalog);
    const [store] = catalog.stores().values();
    if (!store) throw invalid('There is no store.');
    const source = openSource(declaration);
    // Time values from a source are read for declared layers only; a preview shows the source's default.
    const parameters = declaration.parameters.filter(({ from }) => from === undefined);
    const layer = createLayer({ ...declaration, name, parameters, onMiss: 'source' }, catalog.gridSets);
    const bound: BoundLayer = { layer, store, source: () => source };
    open.set(name, { bound, source });
    const [oldest] = open.keys();
    if (open.size > MAX_OPEN && oldest !== undefined) void close(oldest);
    return bound;
  }

  async function close(name: string): Promise<void> {
    const entry = open.get(name);
    open.delete(name);
    await entry?.source.close();
  }

  return {
    layer: (document: unknown) => boundTo(document).layer,
    async tile(document: unknown, gridSet: string, tile: TileIndex, signal: AbortSignal) {
      const names = { gridSet, format: null, parameters: NO_PARAMETERS };
      const tiles = { ...resolveTileSet(boundTo(document), names), bypass: true as const };
      const { subset, format } = tiles;
      if (format.kind !== 'opaque' && isHidden(subset, tile.z))
        return blank(format, subset.gridSet.tileWidth, subset.gridSet.tileHeight);
      const { bytes } = await pipeline.read(tiles, tile, signal);
      return { bytes, contentType: format.contentType };
    },
    async close() {
      await Promise.all([...open.keys()].map(close));
    },
  };
}
