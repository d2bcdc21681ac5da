import { expect, it } from 'vitest';
import { builtInGridSet } from '../../test/fixtures/layers.ts';
import { blockAt } from '../domain/tile-rect.ts';
import { matchTile, readWmtsLayer, type TileMatrixSet } from './wmts-capabilities.ts';

const limitsOf = (zooms: number) =>
  Array.from(
    { length: zooms },
    (_, z) =>
      `<TileMatrixLimits><TileMatrix>${z}</TileMatrix><MinTileRow>0</MinTileRow><MaxTileRow>9</MaxTileRow>` +
      '<MinTileCol>0</MinTileCol><MaxTileCol>9</MaxTileCol></TileMatrixLimits>',
  ).join('');

const layerOf = (id: string, set: string) =>
  `<Layer><ows:Identifier>${id}</ows:Identifier><Format>image/png</Format><TileMatrixSetLink>` +
  `<TileMatrixSet>${set}</TileMatrixSet><TileMatrixSetLimits>${limitsOf(20)}</TileMatrixSetLimits>` +
  '</TileMatrixSetLink></Layer>';

const setOf = (id: string) =>
  `<TileMatrixSet><ows:Identifier>${id}</ows:Identifier><ows:SupportedCRS>EPSG:3857</ows:SupportedCRS></TileMatrixSet>`;

function capabilities(layers: number, before: string, after: string): Buffer {
  const all = Array.from({ length: layers }, (_, n) => layerOf(`layer-${n}`, n === 200 ? 'mine' : 'theirs'));
  return Buffer.from(
    `<Capabilities xmlns:ows="http://www.opengis.net/ows/1.1"><Contents>${before}${all.join('')}${after}</Contents></Capabilities>`,
  );
}

it('long capabilities are read in turns, with the declared layer, its matrix sets and the names of some other layers', async () => {
  const bytes = capabilities(300, '', setOf('theirs') + setOf('mine'));
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { layers } = await readWmtsLayer(bytes, 'layer-200');
  isOver = true;
  expect(turns).toBeGreaterThan(bytes.length / 64_000);
  const layer = layers.get('layer-200');
  expect(layer?.links.map(({ set, limits }) => [set.id, limits.size])).toEqual([['mine', 20]]);
  expect(layers.get('layer-0')).toMatchObject({ links: [], formats: [] });
  expect(layers.size).toBe(101);
});

it('matrix sets may come before the layers that link to them', async () => {
  const bytes = capabilities(201, setOf('theirs') + setOf('mine'), '');
  const { layers } = await readWmtsLayer(bytes, 'layer-200');
  expect(layers.get('layer-200')?.links.map(({ set }) => set.id)).toEqual(['mine']);
});

const DEGREES = builtInGridSet('EPSG:4326');

function degreesSet(crs: string, corner: readonly [number, number], [columns, rows] = [2, 1]): TileMatrixSet {
  const matrices = DEGREES.levels.slice(0, 5).map(({ scaleDenominator }, z) => ({
    ...{ id: String(z), scaleDenominator, topLeftCorner: corner, tileWidth: 256, tileHeight: 256 },
    ...{ columns: columns * 2 ** z, rows: rows * 2 ** z },
  }));
  return { id: 'degrees', crs, matrices };
}

it.each([
  ['EPSG::4326', [90, -180]],
  ['EPSG::4326', [-180, 90]],
  ['OGC:1.3:CRS84', [-180, 90]],
  ['OGC:1.3:CRS84', [90, -180]],
] as const)('a matrix set of %s with its corner at %s has the tiles of the world', (crs, corner) => {
  const set = degreesSet(`urn:ogc:def:crs:${crs}`, corner);
  const at = (z: number, x: number, y: number) =>
    matchTile([{ set, limits: new Map([['4', blockAt(1, 1, 8)]]) }], DEGREES, { z, x, y });
  expect(at(0, 1, 0)).toMatchObject({ column: 1, row: 0, offered: true });
  expect(at(1, 0, 0)).toMatchObject({ column: 0, row: 0, offered: true });
  expect(at(3, 15, 7)).toMatchObject({ column: 15, row: 7, offered: true });
  expect(at(4, 8, 8)).toMatchObject({ column: 8, row: 8, offered: true });
  expect(at(4, 7, 8)).toMatchObject({ column: 7, row: 8, offered: false });
});

it('a tile beside the matrices of a region is not looked for with the other axis order', () => {
  const set = degreesSet('EPSG:4326', [45, 0], [0.25, 0.25]);
  const at = (x: number, y: number) => matchTile([{ set, limits: new Map() }], DEGREES, { z: 3, x, y });
  expect(at(9, 3)).toMatchObject({ column: 1, row: 1, offered: true });
  expect(at(10, 4)).toMatchObject({ column: 2, row: 2, offered: false });
});
