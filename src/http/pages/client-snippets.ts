import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { isWebMercator } from '../../domain/srs.ts';
import { geographicBoxOf } from '../services/layer-facts.ts';

/** Something to paste into a client. */
export interface Snippet {
  /** Of its place on the page, e.g. `leaflet`. */
  readonly id: string;
  readonly client: string;
  /** What to do with it, in a sentence. */
  readonly how: string;
  readonly text: string;
}

interface Offer {
  readonly layer: Layer;
  readonly base: string;
  /** In web mercator, for clients that know nothing else; null: the layer has none. */
  readonly mercator: GridSubset | null;
  readonly extension: string;
  readonly opaque: boolean;
}

/** For each client that can show the layer. */
export function snippetsFor(layer: Layer, base: string): readonly Snippet[] {
  const [format] = layer.formats;
  const offer: Offer = {
    layer,
    base,
    mercator: layer.gridSubsets.find(({ gridSet }) => isWebMercator(gridSet)) ?? null,
    extension: format.extensions[0],
    opaque: format.kind === 'opaque',
  };
  const pictures = offer.opaque ? [] : [qgisWmts, gdal, openLayers, arcGis];
  const mercator = offer.opaque ? [mapLibreVector] : [leaflet, mapLibre, arcGisScript];
  const writers = [...pictures, ...(offer.mercator ? [qgisXyz, ...mercator] : []), ogcApi];
  return writers.map((write) => write(offer));
}

const tilesUrl = ({ base, layer }: Offer) => `${base}/tiles/${addressPart(layer.name)}`;

function capabilitiesUrl({ base, layer }: Offer): string {
  return `${base}/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&LAYER=${addressPart(layer.name)}`;
}

function qgisWmts(offer: Offer): Snippet {
  return {
    id: 'qgis',
    client: 'QGIS',
    how: 'Layer › Add Layer › Add WMS/WMTS Layer… › New, and this as the URL.',
    text: capabilitiesUrl(offer),
  };
}

function qgisXyz(offer: Offer): Snippet {
  return {
    id: 'qgis-xyz',
    client: 'QGIS, without a list to choose from',
    how: `Browser › ${offer.opaque ? 'Vector Tiles' : 'XYZ Tiles'} › New Connection…, and this as the URL.`,
    text: `${tilesUrl(offer)}/{z}/{x}/{y}.${offer.extension}`,
  };
}

function gdal(offer: Offer): Snippet {
  const [{ gridSet }] = offer.layer.gridSubsets;
  const dataset = `WMTS:${capabilitiesUrl(offer)},tilematrixset=${gridSet.name}`;
  return {
    id: 'gdal',
    client: 'GDAL',
    how: 'Reads a picture of the whole layer. With another tilematrixset= it reads another grid.',
    text: `gdal_translate -of PNG -outsize 800 0 \\\n  ${shellWord(dataset)} map.png`,
  };
}

function openLayers(offer: Offer): Snippet {
  const { gridSet } = offer.mercator ?? offer.layer.gridSubsets[0];
  const options = `{ layer: ${scriptString(offer.layer.name)}, matrixSet: ${scriptString(gridSet.name)} }`;
  return {
    id: 'openlayers',
    client: 'OpenLayers',
    how: 'Into a script of a page that has an element with the id map.',
    text: `import Map from 'ol/Map.js';
import View from 'ol/View.js';
import WMTSCapabilities from 'ol/format/WMTSCapabilities.js';
import TileLayer from 'ol/layer/Tile.js';
import WMTS, { optionsFromCapabilities } from 'ol/source/WMTS.js';

const answer = await fetch(${scriptString(capabilitiesUrl(offer))});
const capabilities = new WMTSCapabilities().read(await answer.text());
const source = new WMTS(optionsFromCapabilities(capabilities, ${options}));
const view = new View({ projection: source.getProjection() });
const map = new Map({ target: 'map', layers: [new TileLayer({ source })], view });
view.fit(source.getTileGrid().getExtent());`,
  };
}

function leaflet(offer: Offer): Snippet {
  const { layer, mercator } = offer;
  const dense = layer.retinaSubsets.length > 0 ? '{r}' : '';
  const url = `${tilesUrl(offer)}/{z}/{x}/{y}${dense}.${offer.extension}`;
  return {
    id: 'leaflet',
    client: 'Leaflet',
    how: 'Into a script of a page that has Leaflet and an element with the id map.',
    text: `const map = L.map('map').fitBounds(${JSON.stringify(cornersOf(mercator))});
L.tileLayer(${scriptString(url)}, {
  minZoom: ${mercator?.zoomStart ?? 0},
  maxZoom: ${mercator?.zoomStop ?? 0},
  attribution: ${scriptString(layer.attribution)},
}).addTo(map);`,
  };
}

/** South-west and north-east, latitude first. */
function cornersOf(subset: GridSubset | null): readonly (readonly [number, number])[] {
  const [west, south, east, north] = boxOf(subset);
  return [
    [south, west],
    [north, east],
  ];
}

function boxOf(subset: GridSubset | null): readonly [number, number, number, number] {
  return (subset && geographicBoxOf(subset)) ?? [-180, -85, 180, 85];
}

function mapLibre(offer: Offer): Snippet {
  return mapLibreWith(
    offer,
    `{ type: 'raster', url: ${scriptString(`${tilesUrl(offer)}.json`)}, tileSize: ${tileSizeOf(offer)} }`,
    `{ id: 'layer', type: 'raster', source: 'layer' }`,
  );
}

function mapLibreVector(offer: Offer): Snippet {
  const painted = `{ id: 'layer', type: 'line', source: 'layer', 'source-layer': 'NAME OF A LAYER IN THE TILES' }`;
  return mapLibreWith(offer, `{ type: 'vector', url: ${scriptString(`${tilesUrl(offer)}.json`)} }`, painted);
}

function mapLibreWith(offer: Offer, source: string, layer: string): Snippet {
  return {
    id: 'maplibre',
    client: 'MapLibre',
    how: 'Into a script of a page that has an element with the id map.',
    text: `import * as maplibregl from 'maplibre-gl';

const map = new maplibregl.Map({
  container: 'map',
  bounds: ${JSON.stringify(boxOf(offer.mercator))},
  style: {
    version: 8,
    sources: { layer: ${source} },
    layers: [${layer}],
  },
});`,
  };
}

function tileSizeOf({ mercator }: Offer): number {
  return mercator?.gridSet.tileWidth ?? 256;
}

function arcGis({ base }: Offer): Snippet {
  return {
    id: 'arcgis',
    client: 'ArcGIS Pro and ArcGIS Online',
    how: 'Add › WMTS layer (in Pro: Insert › Connections › New WMTS Server), and this as the URL.',
    text: `${base}/service/wmts/rest/WMTSCapabilities.xml`,
  };
}

function arcGisScript(offer: Offer): Snippet {
  const url = `${tilesUrl(offer)}/{level}/{col}/{row}.${offer.extension}`;
  return {
    id: 'arcgis-js',
    client: 'ArcGIS Maps SDK for JavaScript',
    how: 'A layer for any map of yours.',
    text: `new WebTileLayer({ urlTemplate: ${scriptString(url)}, copyright: ${scriptString(offer.layer.attribution)} })`,
  };
}

function ogcApi({ base, layer }: Offer): Snippet {
  return {
    id: 'ogc-api',
    client: 'Whatever speaks OGC API – Tiles',
    how: 'The address of the layer; GDAL takes it with OGCAPI: in front.',
    text: `${base}/ogc/collections/${addressPart(layer.name)}`,
  };
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
