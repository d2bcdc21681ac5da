import { describe, expect, it } from 'vitest';
import { checkSettings } from './check-settings.ts';
import { settingsSchema } from './settings-schema.ts';

const WORLD = { name: 'world', source: { type: 'world' } };
const xyz = (changes: object) => ({
  name: 'tiles',
  gridSets: ['EPSG:900913'],
  ...changes,
  source: {
    type: 'xyz',
    url: 'http://a.test/{z}/{x}/{y}',
    ...('source' in changes ? (changes.source as object) : {}),
  },
});
const on = (name: string, layer: string, more: object = {}, source: object = {}) => ({
  name,
  source: { type: 'layer', layer, ...source },
  ...more,
});

function problems(
  layers: readonly object[],
  gridSets: readonly object[] = [],
  areas: readonly object[] = [],
): readonly string[] {
  const document = settingsSchema.parse({ layers, gridSets, areas });
  return checkSettings(document).problems.map(({ path, message }) => `${path.join('.')} ${message}`);
}

describe('ready-made tiles', () => {
  it('ready-made tiles are accepted in web mercator, or if the source has the grid set', () => {
    expect(problems([xyz({})])).toEqual([]);
    expect(problems([xyz({ gridSets: ['EPSG:4326'], source: { gridSets: { 'EPSG:4326': {} } } })])).toEqual(
      [],
    );
    const archive = { type: 'archive', path: 'a.mbtiles' };
    expect(problems([{ name: 'a', source: archive, gridSets: ['EPSG:3857'] }])).toEqual([]);
  });

  it('ready-made tiles are refused in a grid set they are not made for', () => {
    expect(problems([xyz({ gridSets: ['EPSG:900913', 'EPSG:4326'] })])).toEqual([
      expect.stringMatching(/^layers\.0\.source has ready-made tiles, and not in EPSG:4326, /),
    ]);
    expect(problems([{ name: 'a', source: { type: 'archive', path: 'a.pmtiles' } }])).toHaveLength(1);
  });
});

describe('a layer drawn from another', () => {
  it('a layer drawn from another is accepted if that one exists', () => {
    expect(problems([WORLD, on('a', 'world'), on('b', 'a'), on('c', 'b')])).toEqual([]);
  });

  it.each([
    [[WORLD, on('a', 'wrld')], /^layers\.1\.source\.layer names the layer wrld, .* did you mean world\?/],
    [[on('a', 'a')], /leads back to itself: a → a/],
    [[on('a', 'b'), on('b', 'c'), on('c', 'b')], /leads back to itself: a → b → c → b/],
    [
      [WORLD, on('a', 'world'), on('b', 'a'), on('c', 'b'), on('d', 'c')],
      /at most 4 in a row: d → c → b → a → world/,
    ],
    [
      [WORLD, on('a', 'world', {}, { gridSet: 'EPSG:25832' })],
      /source\.gridSet must be one of layer world: EPSG:900913, EPSG:4326/,
    ],
    [
      [xyz({ formats: ['application/vnd.mapbox-vector-tile'] }), on('a', 'tiles')],
      /names tiles, which has no pictures to draw from/,
    ],
  ])('a layer drawn from another is refused where that leads nowhere: %#', (layers, message) => {
    expect(problems(layers).join('\n')).toMatch(message);
  });

  it('a layer drawn from another is refused in an unknown CRS', () => {
    const strange = { name: 'strange', srs: 99999, extent: [0, 0, 10, 10], levels: 3 };
    expect(problems([WORLD, on('a', 'world', { gridSets: ['strange'] })], [strange])).toEqual([
      expect.stringContaining('the projection of EPSG:99999 is not known; give the grid set a projection'),
    ]);
  });
});

describe('a composed layer', () => {
  const of = (name: string, ...parts: readonly object[]) => ({ name, source: { type: 'layers', of: parts } });
  const tiles = { type: 'xyz', url: 'http://a.test/{z}/{x}/{y}' };

  it('a composed layer is accepted if its parts exist', () => {
    const own = { source: { type: 'wms', url: 'http://a.test/', layers: 'a' } };
    expect(problems([WORLD, of('a', { layer: 'world' }, { layer: 'world', opacity: 0.5 }, own)])).toEqual([]);
  });

  it.each([
    [
      [WORLD, of('a', { layer: 'world' }, { layer: 'wrld' })],
      /^layers\.1\.source\.of\.1\.layer names .* wrld/,
    ],
    [[WORLD, of('a', { layer: 'world' }, { layer: 'a' })], /of\.1\.layer leads back to itself: a → a/],
    [
      [WORLD, of('a', { layer: 'world' }, { layer: 'b' }), of('b', { layer: 'world' }, { layer: 'a' })],
      /of\.1\.layer leads back to itself: a → b → a/,
    ],
    [[of('a', { source: tiles })], /source\.of\.0\.source has ready-made tiles, and not in EPSG:4326/],
    [
      [WORLD, of('a', { layer: 'world', gridSet: 'EPSG:25832' })],
      /source\.of\.0\.gridSet must be one of layer world/,
    ],
  ])('a composed layer is refused by the part that leads nowhere: %#', (layers, message) => {
    expect(problems(layers).join('\n')).toMatch(message);
  });
});

describe('a layer within an area', () => {
  const nl = { name: 'nl', bounds: [3, 50, 8, 54] };
  const inside = (within: string, more: object = {}) => ({ ...WORLD, within, ...more });
  const part = (within: string) => ({
    name: 'a',
    source: { type: 'layers', of: [{ layer: 'world', within }] },
  });

  it('a layer and a part may be within an area that is declared', () => {
    expect(problems([inside('nl', { background: '#fff' }), part('nl')], [], [nl])).toEqual([]);
  });

  it.each([
    [[inside('nll')], [nl], /^layers\.0\.within names the area nll, .* did you mean nl\?/],
    [[WORLD, part('be')], [nl], /^layers\.1\.source\.of\.0\.within names the area be/],
    [[{ ...WORLD, background: '#fff' }], [], /^layers\.0\.background goes only with within/],
    [
      [inside('nl', { formats: ['application/vnd.mapbox-vector-tile'] })],
      [nl],
      /within needs formats that are/,
    ],
    [[WORLD], [nl, nl], /^areas\.1 .*Another area is named nl/],
    [[WORLD], [{ ...nl, srs: 'EPSG:99999' }], /^areas\.0 .*EPSG:99999 is not known/],
  ])('a layer within an area is refused by the field that is wrong: %#', (layers, areas, message) => {
    expect(problems(layers, [], areas).join('\n')).toMatch(message);
  });
});
