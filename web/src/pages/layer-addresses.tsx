import { part } from '../api/client.ts';
import { extensionOf, type TileSet, tileAddress } from '../map/tile-set.ts';
import { Copy } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { curl } from '../parts/curl.ts';

/** Ready to paste into what people use. */
export function Addresses({ set }: { readonly set: TileSet }) {
  return (
    <>
      {addressesOf(set).map(([name, text], place) => (
        <details key={name} open={place === 0}>
          <summary>{name}</summary>
          <Copy label={name} text={text} />
        </details>
      ))}
    </>
  );
}

function addressesOf(set: TileSet): readonly (readonly [name: string, text: string])[] {
  const { layer, gridSet, format } = set;
  const { name } = layer;
  const base = new URL('.', location.href.split('#')[0]).href;
  const xyz = `${base}${tileAddress(set, '{z}', '{x}', '{y}')}`;
  const wmts = `${base}service/wmts?REQUEST=GetCapabilities`;
  const maxZoom = gridSet.zoomStop;
  const mercator = gridSet.srs === 'EPSG:3857' || gridSet.srs === 'EPSG:900913';
  const { zoomStart, extent, origins, resolutions, tileSize } = gridSet;
  const grid = { extent, origins, resolutions, tileSize, minZoom: zoomStart };
  const ol = mercator
    ? `new ol.source.XYZ({ url: ${JSON.stringify(xyz)}, maxZoom: ${maxZoom} })`
    : `new ol.source.TileImage({
  projection: '${gridSet.srs}',
  tileGrid: new ol.tilegrid.TileGrid(${JSON.stringify(grid)}),
  tileUrlFunction: ([z, x, y]) => ${JSON.stringify(xyz)}.replace('{z}', z).replace('{x}', x).replace('{y}', y),
})`;
  const gdal = `gdalinfo "WMTS:${wmts},layer=${name},tilematrixset=${gridSet.name}"`;
  const seed = { layer: name, type: 'seed', gridSet: gridSet.name, format, zoomStart: 0, zoomStop: 5 };
  return [
    ['XYZ', xyz],
    ['QGIS (Layer › Add WMS/WMTS layer)', wmts],
    ['OpenLayers', ol],
    ...(mercator
      ? ([
          ['Leaflet', `L.tileLayer(${JSON.stringify(xyz)}, { maxZoom: ${maxZoom} }).addTo(map);`],
          [
            'MapLibre',
            `map.addSource(${JSON.stringify(name)}, ${JSON.stringify({ type: 'raster', tiles: [xyz], tileSize: tileSize[0], maxzoom: maxZoom }, null, 2)});`,
          ],
          ['TileJSON', `${base}tiles/${part(name)}.json`],
        ] as const)
      : []),
    ['GDAL', gdal],
    ['TMS', `${base}service/tms/1.0.0`],
    ['curl: a tile', `curl -o tile.${extensionOf(set)} '${base}${tileAddress(set, zoomStart, 0, 0)}'`],
    [`curl: ${TEXTS.tasks.types.seed}`, curl('POST', 'api/v1/tasks', seed)],
  ];
}
