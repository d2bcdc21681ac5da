import type { GridSet } from '../../domain/grid-set.ts';
import type { Layer } from '../../domain/layer.ts';
import type { LayerState } from '../../pipeline/layer-activity.ts';
import { layerOffer } from '../services/layer-list.ts';

/** A line of a list of thousands. */
export function layerSummary(layer: Layer, state: LayerState) {
  return {
    name: layer.name,
    title: layer.title,
    access: layer.access,
    gridSets: layer.gridSubsets.map(({ gridSet }) => gridSet.name),
    formats: layer.formats.map((format) => format.mediaType),
    ...stateDocument(state),
  };
}

function stateDocument({ changedAt, failures, lastFailure }: LayerState) {
  return {
    changedAt: timeOf(changedAt),
    failures,
    lastFailure: lastFailure && { ...lastFailure, at: timeOf(lastFailure.at) },
  };
}

function timeOf(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

/** All that a client must know to show, seed or truncate a layer. */
export function layerDocument(layer: Layer, state: LayerState) {
  return {
    name: layer.name,
    title: layer.title,
    description: layer.description,
    access: layer.access,
    ...layerOffer(layer),
    metatile: [layer.metatile.columns, layer.metatile.rows],
    gutter: layer.gutter,
    expireCacheSeconds: layer.expireCacheSeconds,
    expireCacheByZoom: layer.expireCacheByZoom,
    expireClientsSeconds: layer.expireClientsSeconds,
    expireClientsByZoom: layer.expireClientsByZoom,
    ...stateDocument(state),
  };
}

export function gridSetDocument(gridSet: GridSet) {
  const { extent } = gridSet;
  return {
    name: gridSet.name,
    aliases: gridSet.aliases,
    description: gridSet.description,
    srs: `EPSG:${gridSet.srs}`,
    extent: [extent.minX, extent.minY, extent.maxX, extent.maxY],
    tileSize: [gridSet.tileWidth, gridSet.tileHeight],
    levels: gridSet.levels.map(({ name, resolution, scaleDenominator, columns, rows }) => ({
      name,
      resolution,
      scaleDenominator,
      columns,
      rows,
    })),
  };
}
