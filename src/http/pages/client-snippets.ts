import { coordsOf } from '../../domain/bounds.ts';
import { type GridSubset, middleTileOf } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { isWebMercator } from '../../domain/srs.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { geographicBoxOf, webMercatorSubset } from '../services/layer-facts.ts';

export type Snippet = ReturnType<typeof snippetsFor>[number];
export type Hint = keyof typeof HINTS;

const ROWS_FROM_TOP = 'For any client that takes z, x and y, rows counted from the top.';
const LAYER_ADDRESS = 'The address of the layer.';
const DEGREES_QUAD = 'WorldCRS84Quad';
/** Instructions. The console translates them by their keys. */
const HINTS = {
  xyz: ROWS_FROM_TOP,
  xyzInQgis: `${ROWS_FROM_TOP} In QGIS: Browser › XYZ Tiles › New Connection…`,
  vectorInQgis: `${ROWS_FROM_TOP} In QGIS: Browser › Vector Tiles › New Connection…`,
  qgis: 'Layer › Add Layer › Add WMS/WMTS Layer… › New, and this as the URL.',
  page: 'For a page that has an element with the id map.',
  leaflet: 'For a page that loads Leaflet and has an element with the id map.',
  tilejson: 'For clients that read TileJSON, e.g. as the url of a MapLibre source.',
  gdal: 'Writes a picture of the whole layer.',
  arcgis: 'Add › WMTS layer (in Pro: Insert › Connections › New WMTS Server), and this as the URL.',
  arcgisScript: 'A layer for any map of yours.',
  // GDAL 3.6 reads only tile matrix sets in degrees, by their registered names.
  ogcInGdal: `${LAYER_ADDRESS} GDAL takes it with OGCAPI: in front and -oo TILEMATRIXSET=${DEGREES_QUAD}.`,
  ogc: `${LAYER_ADDRESS} For GDAL use WMTS: GDAL 3.6 needs the grid set ${DEGREES_QUAD}, which this layer does not have.`,
  wms: 'For clients of WMS 1.1.1 and 1.3.0: maps of any box.',
  wmsOfTiles: 'For clients of WMS 1.1.1 and 1.3.0: boxes of single tiles.',
  tms: 'Rows are counted from the bottom.',
  curl: 'Saves one tile to a file.',
} as const;

/** Adds the reader's key to an address, if the request has one. */
export type Keyed = (address: string) => string;

/**
 * Addresses and code for each client that can show this tile set, with an id and instructions. `base`: the address of
 * the server, without a trailing slash.
 */
export function snippetsFor(shown: ResolvedTileSet, base: string, keyed: Keyed = (address) => address) {
  const { layer } = shown.bound;
  const { gridSet } = shown.subset;
  const isMercator = isWebMercator(gridSet);
  const isRaster = shown.format.kind === 'raster';
  const name = addressPart(layer.name);
  const capabilities = keyed(`${base}/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&LAYER=${name}`);
  const at = (place: string) => keyed(tileAddress(shown, base, place));
  const needsNoPassword = layer.access === 'public' || keyed(`${base}/`) !== `${base}/`;
  const url = at('{z}/{x}/{y}');
  const retina = layer.retinaSubsets.length > 0 ? '{r}' : '';
  const dataset = datasetOf(shown, capabilities, url);
  const clients: Readonly<Record<string, readonly [client: string, hint: Hint, text: string] | false>> = {
    xyz: ['Tiles', isMercator ? (isRaster ? 'xyzInQgis' : 'vectorInQgis') : 'xyz', url],
    qgis: isRaster && ['QGIS', 'qgis', capabilities],
    openlayers: isRaster && ['OpenLayers', 'page', openLayers(shown.subset, url, layer.attribution)],
    leaflet: isRaster && isMercator && ['Leaflet', 'leaflet', leaflet(shown, at(`{z}/{x}/{y}${retina}`))],
    maplibre: isMercator && ['MapLibre', 'page', mapLibre(shown, url)],
    tilejson: isMercator && ['TileJSON', 'tilejson', keyed(`${base}/tiles/${name}.json`)],
    gdal: isRaster &&
      dataset !== null && [
        'GDAL',
        'gdal',
        `gdal_translate -of PNG -outsize 800 0 \\\n  ${shellWord(dataset)} map.png`,
      ],
    arcgis: isRaster && [
      'ArcGIS Pro and ArcGIS Online',
      'arcgis',
      keyed(`${base}/service/wmts/rest/WMTSCapabilities.xml`),
    ],
    'arcgis-js': isRaster &&
      isMercator && [
        'ArcGIS Maps SDK for JavaScript',
        'arcgisScript',
        `new WebTileLayer({ urlTemplate: ${scriptString(at('{level}/{col}/{row}'))}, copyright: ${scriptString(layer.attribution)} })`,
      ],
    'ogc-api': ['OGC API – Tiles', ogcHint(layer), keyed(`${base}/ogc/collections/${name}`)],
    wms: isRaster && [
      'WMS',
      layer.fullWms ? 'wms' : 'wmsOfTiles',
      keyed(`${base}/service/wms?SERVICE=WMS&REQUEST=GetCapabilities${layer.fullWms ? '' : '&TILED=true'}`),
    ],
    tms: ['TMS', 'tms', keyed(`${base}/service/tms/1.0.0`)],
    curl: ['curl: a tile', 'curl', curlOfTile(shown, at, needsNoPassword)],
  };
  return Object.entries(clients).flatMap(([id, entry]) => {
    if (!entry) return [];
    const [client, hint, text] = entry;
    return [{ id, client, hint, how: HINTS[hint], text }];
  });
}

function ogcHint({ gridSubsets }: Layer): Hint {
  const names = gridSubsets.flatMap(({ gridSet }) => [gridSet.name, ...gridSet.aliases]);
  return names.includes(DEGREES_QUAD) ? 'ogcInGdal' : 'ogc';
}

/** `place` is `z/x/y`, or a placeholder for it. */
function tileAddress(shown: ResolvedTileSet, base: string, place: string): string {
  const { bound, subset, format } = shown;
  const { layer } = bound;
  const isDefault = isWebMercator(subset.gridSet) && webMercatorSubset(layer) === subset;
  const gridSet = isDefault ? '' : `/${addressPart(subset.gridSet.name)}`;
  const query = new URLSearchParams(nonDefaultParameters(shown)).toString();
  const address = `${base}/tiles/${addressPart(layer.name)}${gridSet}/${place}.${format.extensions[0]}`;
  return query === '' ? address : `${address}?${query}`;
}

function nonDefaultParameters({ bound, selection }: ResolvedTileSet): Record<string, string> {
  const others = bound.layer.parameters.filter(({ name, defaultValue }) => {
    return (selection.values.get(name) ?? defaultValue) !== defaultValue;
  });
  return Object.fromEntries(others.map(({ name }) => [name, selection.values.get(name) ?? '']));
}

/** Defines the tile grid itself, so that it works for a CRS that OpenLayers does not know. */
function openLayers(
  { gridSet, extent, zoomStart, zoomStop }: GridSubset,
  url: string,
  attribution: string,
): string {
  const box = JSON.stringify(coordsOf(extent));
  const levels = gridSet.levels.slice(0, zoomStop + 1);
  const code = `EPSG:${gridSet.srs}`;
  const known = ['EPSG:3857', 'EPSG:900913', 'EPSG:4326'].includes(code);
  const projection = known ? `'${code}'` : `new Projection({ code: '${code}', units: 'm', extent: ${box} })`;
  return `import Map from 'ol/Map.js';
import View from 'ol/View.js';
import TileLayer from 'ol/layer/Tile.js';${known ? '' : "\nimport Projection from 'ol/proj/Projection.js';"}
import TileImage from 'ol/source/TileImage.js';
import TileGrid from 'ol/tilegrid/TileGrid.js';

const projection = ${projection};
const tileGrid = new TileGrid({
  extent: ${box},
  minZoom: ${zoomStart},
  origins: ${JSON.stringify(levels.map(({ top }) => [gridSet.extent.minX, top]))},
  resolutions: ${JSON.stringify(levels.map(({ resolution }) => resolution))},
  tileSize: [${gridSet.tileWidth}, ${gridSet.tileHeight}],
});
const source = new TileImage({${attribution === '' ? '' : `\n  attributions: ${scriptString(attribution)},`}
  projection,
  tileGrid,
  tileUrlFunction: ([z, x, y]) =>
    ${scriptString(url)}.replace('{z}', z).replace('{x}', x).replace('{y}', y),
});
const view = new View({ projection });
const map = new Map({ target: 'map', layers: [new TileLayer({ source })], view });
view.fit(tileGrid.getExtent());`;
}

function leaflet({ bound, subset }: ResolvedTileSet, url: string): string {
  const [west, south, east, north] = degreesBox(subset);
  return `const map = L.map('map').fitBounds([[${south}, ${west}], [${north}, ${east}]]);
L.tileLayer(${scriptString(url)}, {
  minZoom: ${subset.zoomStart},
  maxZoom: ${subset.zoomStop},
  attribution: ${scriptString(bound.layer.attribution)},
}).addTo(map);`;
}

function mapLibre({ bound, subset, format }: ResolvedTileSet, url: string): string {
  const raster = format.kind === 'raster';
  const source = {
    type: raster ? 'raster' : 'vector',
    tiles: [url],
    ...(raster && { tileSize: subset.gridSet.tileWidth }),
    minzoom: subset.zoomStart,
    maxzoom: subset.zoomStop,
    ...(bound.layer.attribution !== '' && { attribution: bound.layer.attribution }),
  };
  const painted = raster
    ? "'raster', source: 'layer'"
    : "'line', source: 'layer', 'source-layer': 'NAME OF A LAYER IN THE TILES'";
  return `import * as maplibregl from 'maplibre-gl';

const map = new maplibregl.Map({
  container: 'map',
  bounds: ${JSON.stringify(degreesBox(subset))},
  style: {
    version: 8,
    sources: { layer: ${JSON.stringify(source)} },
    layers: [{ id: 'layer', type: ${painted} }],
  },
});`;
}

function degreesBox(subset: GridSubset): readonly [number, number, number, number] {
  return geographicBoxOf(subset) ?? [-180, -85, 180, 85];
}

/** GDAL's WMTS takes only a style. Other parameters need the tile address, in web mercator; null: neither fits. */
function datasetOf(shown: ResolvedTileSet, capabilities: string, url: string): string | null {
  const { gridSet, zoomStop } = shown.subset;
  const { STYLES: style, ...others } = nonDefaultParameters(shown);
  if (Object.keys(others).length === 0) {
    const parameter = style === undefined ? '' : `,style=${style}`;
    return `WMTS:${capabilities},tilematrixset=${gridSet.name}${parameter}`;
  }
  if (!isWebMercator(gridSet)) return null;
  const address = url.replaceAll('&', '&amp;').replace(/\{([zxy])\}/g, (_, name: string) => `\${${name}}`);
  const { minX, minY, maxX, maxY } = gridSet.extent;
  return (
    `<GDAL_WMS><Service name="TMS"><ServerUrl>${address}</ServerUrl></Service>` +
    `<DataWindow><UpperLeftX>${minX}</UpperLeftX><UpperLeftY>${maxY}</UpperLeftY>` +
    `<LowerRightX>${maxX}</LowerRightX><LowerRightY>${minY}</LowerRightY>` +
    `<TileLevel>${zoomStop}</TileLevel><TileCountX>1</TileCountX><TileCountY>1</TileCountY>` +
    `<YOrigin>top</YOrigin></DataWindow><Projection>EPSG:3857</Projection>` +
    `<BlockSizeX>${gridSet.tileWidth}</BlockSizeX><BlockSizeY>${gridSet.tileHeight}</BlockSizeY><BandsCount>4</BandsCount></GDAL_WMS>`
  );
}

function curlOfTile({ subset, format }: ResolvedTileSet, at: Keyed, needsNoPassword: boolean): string {
  const { z, x, y } = middleTileOf(subset);
  const secret = needsNoPassword ? '' : '-u NAME:PASSWORD ';
  return `curl -f ${secret}-o tile.${format.extensions[0]} ${shellWord(at(`${z}/${x}/${y}`))}`;
}

/** Quoted as one word for a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** A string literal of JavaScript, in single quotes. */
function scriptString(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner}'`;
}

/** One part of a path or query; escapes the apostrophe too, so that the URL fits in any quotes. */
export function addressPart(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27');
}
