import type { BoundLayer } from '../../catalog/bound-layer.ts';
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

/** All that a client must know to show, seed or truncate a layer, where it comes from, and its settings in effect. */
export function layerDocument({ layer, declared }: BoundLayer, state: LayerState) {
  return {
    name: layer.name,
    title: layer.title,
    description: layer.description,
    access: layer.access,
    source: sourceDocument(declared?.source),
    store: declared?.store ?? null,
    adopts: (declared?.adopt ?? []).map(
      (adopted) => `${adopted.layout}: ${adopted.layout === 'mbtiles' ? adopted.file : adopted.folder}`,
    ),
    attribution: layer.attribution,
    ...layerOffer(layer),
    metatile: [layer.metatile.columns, layer.metatile.rows],
    gutter: layer.gutter,
    expireCacheSeconds: layer.expireCacheSeconds,
    expireCacheByZoom: layer.expireCacheByZoom,
    expireClientsSeconds: layer.expireClientsSeconds,
    expireClientsByZoom: layer.expireClientsByZoom,
    followSource: layer.followSource,
    staleWhileRevalidateSeconds: layer.staleWhileRevalidateSeconds,
    staleIfErrorSeconds: layer.staleIfErrorSeconds,
    outside: layer.outside,
    blankIsRight: layer.blankIsRight,
    fullWms: layer.fullWms,
    infoFormats: layer.infoFormats,
    ...stateDocument(state),
  };
}

/** Options that hold no secret. Addresses are shown without query and user: keys stand there. */
const SHOWN_OPTIONS = [
  'type',
  'url',
  'path',
  'layer',
  'layers',
  'styles',
  'style',
  'version',
  'gridSet',
  'tileMatrixSet',
] as const;

function sourceDocument(source: unknown): Record<string, string> {
  const given = Object.entries(Object(source) as Record<string, unknown>);
  const shown = SHOWN_OPTIONS.flatMap((option) => given.filter(([name, value]) => name === option && value));
  return Object.fromEntries(
    shown.map(([name, value]) => [name, name === 'url' ? addressOnly(value) : String(value)]),
  );
}

function addressOnly(value: unknown): string {
  const addresses = [value].flat().map(String);
  return addresses.map((url) => url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//')).join(', ');
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
