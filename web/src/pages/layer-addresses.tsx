import { part } from '../api/client.ts';
import { extensionOf, type GridSetInfo, type TileSet, tileAddress } from '../map/tile-set.ts';
import { Copy } from '../parts/basics.tsx';
import { curl, quoted } from '../parts/curl.ts';
import { TEXTS } from '../texts.ts';

const WORDS = TEXTS.layer;

/** Ready to paste into what people use. */
export function Addresses({ set }: { set: TileSet }) {
  const base = new URL('.', location.href.split('#')[0]).href;
  return (
    <>
      {set.layer.access !== 'public' && <p className="notice">{WORDS.closedLayer}</p>}
      {snippetsFor(set, base).map(({ id, text }, place) => {
        const { name, how } = WORDS.clients[id];
        return (
          <details key={id} open={place === 0}>
            <summary>{name}</summary>
            <p className="small quiet">{how}</p>
            <Copy label={name} text={text} />
          </details>
        );
      })}
      <details>
        <summary>{WORDS.curlSeed}</summary>
        <Copy label={WORDS.curlSeed} text={curl('POST', 'api/v1/tasks', seedOf(set))} />
      </details>
    </>
  );
}

/** The first few zooms: done in a moment. */
function seedOf({ layer, gridSet, format, parameters }: TileSet): object {
  const { zoomStart, zoomStop } = gridSet;
  return {
    layer: layer.name,
    type: 'seed',
    gridSet: gridSet.name,
    format,
    parameters,
    zoomStart,
    zoomStop: Math.min(zoomStop, zoomStart + 3),
  };
}

interface Snippet {
  readonly id: 'xyz' | 'qgis' | 'openlayers' | 'leaflet' | 'maplibre' | 'tilejson' | 'gdal' | 'tms' | 'curl';
  readonly text: string;
}

/** Half of the equator, in metres of web mercator. */
const HALF = 20_037_508.342_789_244;
const DEGREES = 180 / Math.PI;
const KNOWN = ['EPSG:3857', 'EPSG:900913', 'EPSG:4326'];

/** For each client that can show this tile set. `base` ends with a slash. */
function snippetsFor(set: TileSet, base: string): readonly Snippet[] {
  const url = `${base}${tileAddress(set, '{z}', '{x}', '{y}')}`;
  const picture = set.format.startsWith('image/');
  const texts: Readonly<Record<Snippet['id'], string | null>> = {
    xyz: url,
    qgis: picture ? capabilitiesUrl(set, base) : null,
    openlayers: picture ? openLayers(set, url) : null,
    leaflet: picture && isXyz(set.gridSet) ? leaflet(set, url) : null,
    maplibre: isXyz(set.gridSet) ? mapLibre(set, url, picture) : null,
    tilejson: isXyz(set.gridSet) ? `${base}tiles/${part(set.layer.name)}.json` : null,
    gdal: picture ? gdal(set, base, url) : null,
    tms: `${base}service/tms/1.0.0`,
    curl: curlOfTile(set, base),
  };
  const ids = Object.keys(texts) as Snippet['id'][];
  return ids.flatMap((id) => (texts[id] === null ? [] : [{ id, text: texts[id] }]));
}

/** Whether z, x and y are those that every web map counts by. */
function isXyz({ srs, origins, resolutions, tileSize }: GridSetInfo): boolean {
  if (srs !== 'EPSG:3857' && srs !== 'EPSG:900913') return false;
  return resolutions.every((resolution, z) => {
    const [left = 0, top = 0] = origins[z] ?? [];
    const worlds = (resolution * tileSize[0] * 2 ** z) / (2 * HALF);
    return Math.abs(worlds - 1) < 1e-6 && Math.abs(left + HALF) < 1 && Math.abs(top - HALF) < 1;
  });
}

function capabilitiesUrl({ layer }: TileSet, base: string): string {
  return `${base}service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&LAYER=${part(layer.name)}`;
}

function openLayers({ gridSet }: TileSet, url: string): string {
  const { srs, extent, zoomStart, zoomStop, origins, resolutions, tileSize } = gridSet;
  const upTo = zoomStop + 1;
  const grid = {
    extent,
    minZoom: zoomStart,
    origins: origins.slice(0, upTo),
    resolutions: resolutions.slice(0, upTo),
    tileSize,
  };
  const known = KNOWN.includes(srs);
  const projection = known
    ? JSON.stringify(srs)
    : `new Projection({ code: ${JSON.stringify(srs)}, units: 'm', extent: ${JSON.stringify(extent)} })`;
  return `import Map from 'ol/Map.js';
import View from 'ol/View.js';
import TileLayer from 'ol/layer/Tile.js';${known ? '' : "\nimport Projection from 'ol/proj/Projection.js';"}
import TileImage from 'ol/source/TileImage.js';
import TileGrid from 'ol/tilegrid/TileGrid.js';

const projection = ${projection};
const tileGrid = new TileGrid(${JSON.stringify(grid)});
const source = new TileImage({
  projection,
  tileGrid,
  tileUrlFunction: ([z, x, y]) =>
    ${JSON.stringify(url)}.replace('{z}', z).replace('{x}', x).replace('{y}', y),
});
const view = new View({ projection });
const map = new Map({ target: 'map', layers: [new TileLayer({ source })], view });
view.fit(tileGrid.getExtent());`;
}

function leaflet({ gridSet }: TileSet, url: string): string {
  const [west, south, east, north] = degreesOf(gridSet);
  return `const map = L.map('map').fitBounds(${JSON.stringify([
    [south, west],
    [north, east],
  ])});
L.tileLayer(${JSON.stringify(url)}, { minZoom: ${gridSet.zoomStart}, maxZoom: ${gridSet.zoomStop} }).addTo(map);`;
}

function mapLibre({ gridSet }: TileSet, url: string, picture: boolean): string {
  const { zoomStart: minzoom, zoomStop: maxzoom, tileSize } = gridSet;
  const source = picture
    ? { type: 'raster', tiles: [url], tileSize: tileSize[0], minzoom, maxzoom }
    : { type: 'vector', tiles: [url], minzoom, maxzoom };
  const layer = picture
    ? { id: 'layer', type: 'raster', source: 'layer' }
    : { id: 'layer', type: 'line', source: 'layer', 'source-layer': 'NAME OF A LAYER IN THE TILES' };
  return `import * as maplibregl from 'maplibre-gl';

const map = new maplibregl.Map({
  container: 'map',
  bounds: ${JSON.stringify(degreesOf(gridSet))},
  style: {
    version: 8,
    sources: { layer: ${JSON.stringify(source)} },
    layers: [${JSON.stringify(layer)}],
  },
});`;
}

/** West, south, east, north of a grid in web mercator. */
function degreesOf({ extent }: GridSetInfo): readonly number[] {
  const [minX, minY, maxX, maxY] = extent;
  const longitude = (x: number) => rounded((x / HALF) * 180);
  const latitude = (y: number) => rounded(Math.atan(Math.sinh((y / HALF) * Math.PI)) * DEGREES);
  return [longitude(minX), latitude(minY), longitude(maxX), latitude(maxY)];
}

function rounded(degrees: number): number {
  return Number(degrees.toFixed(5));
}

/** A WMTS tells GDAL of styles and of nothing else; other values go by the tiles' own address, as far as GDAL can. */
function gdal(set: TileSet, base: string, url: string): string | null {
  const { STYLES: style, ...others } = set.parameters;
  if (Object.keys(others).length > 0) return isXyz(set.gridSet) ? gdalByTiles(set, url) : null;
  const wanted = style === undefined ? '' : `,style=${style}`;
  const dataset = `WMTS:${capabilitiesUrl(set, base)},tilematrixset=${set.gridSet.name}${wanted}`;
  return translate(dataset);
}

function gdalByTiles({ gridSet }: TileSet, url: string): string {
  const address = url.replaceAll('&', '&amp;').replace(/\{([zxy])\}/g, (_, name: string) => `\${${name}}`);
  const [side] = gridSet.tileSize;
  return translate(
    `<GDAL_WMS><Service name="TMS"><ServerUrl>${address}</ServerUrl></Service>` +
      `<DataWindow><UpperLeftX>${-HALF}</UpperLeftX><UpperLeftY>${HALF}</UpperLeftY>` +
      `<LowerRightX>${HALF}</LowerRightX><LowerRightY>${-HALF}</LowerRightY>` +
      `<TileLevel>${gridSet.zoomStop}</TileLevel><TileCountX>1</TileCountX><TileCountY>1</TileCountY>` +
      `<YOrigin>top</YOrigin></DataWindow><Projection>EPSG:3857</Projection>` +
      `<BlockSizeX>${side}</BlockSizeX><BlockSizeY>${side}</BlockSizeY><BandsCount>4</BandsCount></GDAL_WMS>`,
  );
}

function translate(dataset: string): string {
  return `gdal_translate -of PNG -outsize 800 0 \\\n  ${quoted(dataset)} map.png`;
}

/** Of the tile in the middle of what the layer offers at its first zoom. */
function curlOfTile(set: TileSet, base: string): string {
  const { gridSet, layer } = set;
  const { zoomStart: z, extent, origins, resolutions, tileSize } = gridSet;
  const [minX, minY, maxX, maxY] = extent;
  const [left = 0, top = 0] = origins[z] ?? [];
  const [width, height] = [(resolutions[z] ?? 1) * tileSize[0], (resolutions[z] ?? 1) * tileSize[1]];
  const x = Math.floor(((minX + maxX) / 2 - left) / width);
  const y = Math.floor((top - (minY + maxY) / 2) / height);
  const secret = layer.access === 'public' ? '' : '-u NAME:PASSWORD ';
  return `curl -f ${secret}-o tile.${extensionOf(set)} ${quoted(`${base}${tileAddress(set, z, x, y)}`)}`;
}
