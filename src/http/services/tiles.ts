import type { BoundLayer } from '../../catalog/bound-layer.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { shortened } from '../../domain/shortened.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { Exchange } from '../exchange.ts';
import { isOpen, refuseStrangers } from '../layer-door.ts';
import type { Handler } from '../route.ts';
import { parametersOf } from './query-parameters.ts';
import { formatNamed, indexOf, splitRow } from './tile-address.ts';
import { createTileAnswerer } from './tile-answer.ts';
import { webMercatorSubset } from './web-mercator.ts';

export interface TileServiceDeps {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
}

interface ServedTileSet {
  readonly bound: BoundLayer;
  readonly tiles: ResolvedTileSet;
}

const MOST_REMEMBERED = 1000;

/** `/tiles/{layer}[/{gridSet}]/{z}/{x}/{tile}` */
export function createTileService({ catalog, pipeline }: TileServiceDeps): Handler {
  const remembered = new Map<string, ServedTileSet>();
  const answerTile = createTileAnswerer(pipeline);

  return async function tile(exchange) {
    const { row, extension } = splitRow(exchange.param('tile'));
    const index: TileIndex = {
      z: indexOf('zoom', exchange.param('z')),
      x: indexOf('column', exchange.param('x')),
      y: indexOf('row', row),
    };
    const bound = boundLayer(catalog, exchange.param('layer'));
    if (!isOpen(bound.layer)) await refuseStrangers(exchange, bound.layer);
    return answerTile(exchange, tileSetOf(exchange, bound, extension).tiles, index);
  };

  /** Most requests ask for one of a few tile sets: looking one up again costs a look into a map. */
  function tileSetOf(exchange: Exchange, bound: BoundLayer, extension: string): ServedTileSet {
    const gridSet = exchange.params.gridSet ?? null;
    const key = `${exchange.param('layer')}\n${gridSet ?? ''}\n${extension}\n${exchange.query}`;
    const known = remembered.get(key);
    if (known?.bound === bound) return known;
    const made = serveTileSet(bound, gridSet, extension, exchange.query);
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(key, made);
    return made;
  }
}

export function boundLayer(catalog: Pick<Catalog, 'layer'>, name: string): BoundLayer {
  const bound = catalog.layer(name);
  if (bound) return bound;
  throw new TilewardenError('layer-unknown', `There is no layer ${shortened(name)}.`);
}

function serveTileSet(
  bound: BoundLayer,
  gridSet: string | null,
  extension: string,
  query: string,
): ServedTileSet {
  const { layer } = bound;
  const tiles = resolveTileSet(bound, {
    gridSet: gridSet ?? webMercatorSubset(layer).gridSet.name,
    format: formatNamed(layer, extension).mediaType,
    parameters: parametersOf(query, layer.parameters),
  });
  return { bound, tiles };
}
