import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { isWebMercator } from '../../domain/srs.ts';
import { geographicBoxOf } from '../services/layer-facts.ts';

export interface Snippet {
  /** Of its place on the page, e.g. `leaflet`. */
  readonly id: string;
  readonly client: string;
  /** What to do with it, in a sentence. */
  readonly how: string;
  readonly text: string;
}

export function snippetsFor(layer: Layer, base: string): readonly Snippet[] {
  const [format] = layer.formats;
  const opaque = format.kind === 'opaque';
  const extension = format.extensions[0];
  const name = addressPart(layer.name);
  const tiles = `${base}/tiles/${name}`;
  const capabilities = `${base}/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&LAYER=${name}`;
  /** In web mercator, for clients that know nothing else. */
  const mercator = layer.gridSubsets.find(({ gridSet }) => isWebMercator(gridSet)) ?? null;
  const [first] = layer.gridSubsets;
  const pictures: readonly Snippet[] = [
    {
      id: 'qgis',
      client: 'QGIS',
      how: 'Layer › Add Layer › Add WMS/WMTS Layer… › New, and this as the URL.',
      text: capabilities,
    },
    {
      id: 'gdal',
      client: 'GDAL',
      how: 'Reads a picture of the whole layer. With another tilematrixset= it reads another grid.',
      text: `gdal_translate -of PNG -outsize 800 0 \\\n  ${shellWord(`WMTS:${capabilities},tilematrixset=${first.gridSet.name}`)} map.png`,
    },
    {
      id: 'openlayers',
      client: 'OpenLayers',
      how: 'Into a script of a page that has an element with the id map.',
      text: openLayersScript(capabilities, layer.name, (mercator ?? first).gridSet.name),
    },
    {
      id: 'arcgis',
      client: 'ArcGIS Pro and ArcGIS Online',
      how: 'Add › WMTS layer (in Pro: Insert › Connections › New WMTS Server), and this as the URL.',
      text: `${base}/service/wmts/rest/WMTSCapabilities.xml`,
    },
  ];
  const xyz: Snippet = {
    id: 'qgis-xyz',
    client: 'QGIS, without a list to choose from',
    how: `Browser › ${opaque ? 'Vector Tiles' : 'XYZ Tiles'} › New Connection…, and this as the URL.`,
    text: `${tiles}/{z}/{x}/{y}.${extension}`,
  };
  const ogcApi: Snippet = {
    id: 'ogc-api',
    client: 'Whatever speaks OGC API – Tiles',
    how: 'The address of the layer; GDAL takes it with OGCAPI: in front.',
    text: `${base}/ogc/collections/${name}`,
  };
  const own = opaque ? [] : pictures;
  if (!mercator) return [...own, ogcApi];
  const offer = { layer, mercator, tiles, extension };
  return [...own, xyz, ...(opaque ? [mapLibre(offer, 'vector')] : mercatorScripts(offer)), ogcApi];
}

interface Offer {
  readonly layer: Layer;
  readonly mercator: GridSubset;
  readonly tiles: string;
  readonly extension: string;
}

function mercatorScripts(offer: Offer): readonly Snippet[] {
  const { layer, mercator, tiles, extension } = offer;
  const dense = layer.retinaSubsets.length > 0 ? '{r}' : '';
  const [west, south, east, north] = boxOf(mercator);
  const corners = JSON.stringify([
    [south, west],
    [north, east],
  ]);
  return [
    {
      id: 'leaflet',
      client: 'Leaflet',
      how: 'Into a script of a page that has Leaflet and an element with the id map.',
      text: `const map = L.map('map').fitBounds(${corners});
L.tileLayer(${scriptString(`${tiles}/{z}/{x}/{y}${dense}.${extension}`)}, {
  minZoom: ${mercator.zoomStart},
  maxZoom: ${mercator.zoomStop},
  attribution: ${scriptString(layer.attribution)},
}).addTo(map);`,
    },
    mapLibre(offer, 'raster'),
    {
      id: 'arcgis-js',
      client: 'ArcGIS Maps SDK for JavaScript',
      how: 'A layer for any map of yours.',
      text: `new WebTileLayer({ urlTemplate: ${scriptString(`${tiles}/{level}/{col}/{row}.${extension}`)}, copyright: ${scriptString(layer.attribution)} })`,
    },
  ];
}

function mapLibre({ tiles, mercator }: Offer, type: 'raster' | 'vector'): Snippet {
  const size = type === 'raster' ? `, tileSize: ${mercator.gridSet.tileWidth}` : '';
  const painted =
    type === 'raster'
      ? "'raster', source: 'layer'"
      : "'line', source: 'layer', 'source-layer': 'NAME OF A LAYER IN THE TILES'";
  return {
    id: 'maplibre',
    client: 'MapLibre',
    how: 'Into a script of a page that has an element with the id map.',
    text: `import * as maplibregl from 'maplibre-gl';

const map = new maplibregl.Map({
  container: 'map',
  bounds: ${JSON.stringify(boxOf(mercator))},
  style: {
    version: 8,
    sources: { layer: { type: '${type}', url: ${scriptString(`${tiles}.json`)}${size} } },
    layers: [{ id: 'layer', type: ${painted} }],
  },
});`,
  };
}

function boxOf(subset: GridSubset): readonly [number, number, number, number] {
  return geographicBoxOf(subset) ?? [-180, -85, 180, 85];
}

function openLayersScript(capabilities: string, layer: string, matrixSet: string): string {
  return `import Map from 'ol/Map.js';
import View from 'ol/View.js';
import WMTSCapabilities from 'ol/format/WMTSCapabilities.js';
import TileLayer from 'ol/layer/Tile.js';
import WMTS, { optionsFromCapabilities } from 'ol/source/WMTS.js';

const answer = await fetch(${scriptString(capabilities)});
const capabilities = new WMTSCapabilities().read(await answer.text());
const source = new WMTS(optionsFromCapabilities(capabilities, { layer: ${scriptString(layer)}, matrixSet: ${scriptString(matrixSet)} }));
const view = new View({ projection: source.getProjection() });
const map = new Map({ target: 'map', layers: [new TileLayer({ source })], view });
view.fit(source.getTileGrid().getExtent());`;
}

/** For a POSIX shell: whatever stands in it is one word. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** For JavaScript, in single quotes as people write them. */
function scriptString(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner}'`;
}

/** One part of a path or query; the apostrophe too, so that the address can stand in any quotes. */
export function addressPart(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27');
}
