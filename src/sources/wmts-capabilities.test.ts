import { expect, it } from 'vitest';
import { readWmtsLayer } from './wmts-capabilities.ts';

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
