/** A stand-in for GeoServer is edited at random: a pass marks exactly what is drawn otherwise, by a model of the catalog. */
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { inLength, randomSeed } from '../fixtures/length.ts';
import { GEOSERVER_LOGIN, type MockGeoServer, openMockGeoServer } from '../fixtures/mock-geoserver.ts';
import { openServer } from './server-in-process.ts';

const seed = randomSeed();
const ROUNDS = inLength(60, 600);

let geoserver: MockGeoServer | null = null;
afterEach(() => geoserver?.close());

function createRandom(state: number) {
  let at = state;
  const below = (limit: number) => {
    at = (Math.imul(at, 1664525) + 1013904223) >>> 0;
    return Math.floor((at / 2 ** 32) * limit);
  };
  return { below, pick: <T>(items: readonly T[]): T => items[below(items.length)] as T };
}

const STYLES = ['red', 'grey', 'plain', 'topp:blue', 'topp:line', 'other:fill'];
const LAYERS = ['topp:states', 'topp:roads', 'topp:rivers', 'topp:places', 'other:relief'];
/** Each has parts of those before it. */
const GROUPS = ['topp:base', 'other:inner', 'topp:city', 'topp:all'];

/** What a style draws, and how its file is written. */
interface Style {
  colour: number;
  indent: string;
  lineEnd: string;
}

const sld = ({ colour, indent, lineEnd }: Style) =>
  ['<StyledLayerDescriptor>', `${indent}<Fill>${colour}</Fill>`, '</StyledLayerDescriptor>', ''].join(
    lineEnd,
  );

it(`exactly the layers and groups drawn with what changed are marked (seed ${seed})`, async () => {
  const random = createRandom(seed);
  const mock = await openMockGeoServer();
  geoserver = mock;
  const styles = new Map(
    STYLES.map((name): [string, Style] => [name, { colour: 0, indent: '  ', lineEnd: '\n' }]),
  );
  const write = () => {
    for (const [name, style] of styles) mock.styles.set(name, sld(style));
    mock.saved();
  };
  const newPart = (group: string) => {
    const inner = GROUPS.slice(0, GROUPS.indexOf(group));
    const layer = random.pick([...LAYERS, ...inner]);
    return { layer, style: inner.includes(layer) ? null : random.pick([null, ...STYLES]) };
  };
  for (const name of LAYERS) mock.layers.set(name, { title: name, style: random.pick(STYLES), styles: [] });
  for (const name of GROUPS)
    mock.groups.set(
      name,
      Array.from({ length: 1 + random.below(3) }, () => newPart(name)),
    );
  write();

  /** By cached picture: of each style of a layer, and of a group. */
  const pictureOf = (name: string, style: string | null, depth = 0): unknown => {
    const layer = mock.layers.get(name);
    if (layer) return [name, layer.nativeName, styles.get(style ?? layer.style)?.colour];
    return [depth, ...(mock.groups.get(name) ?? []).map((part) => pictureOf(part.layer, part.style, 1))];
  };
  const picturesNow = () => {
    const pictures = new Map<string, string>();
    for (const name of [...LAYERS, ...GROUPS].filter((one) => one.startsWith('topp:')))
      for (const style of ['', ...(mock.layers.get(name)?.styles ?? []), mock.layers.get(name)?.style ?? ''])
        pictures.set(`${name} ${style}`, JSON.stringify(pictureOf(name, style || null)));
    return pictures;
  };

  const layerOf = () => mock.layers.get(random.pick(LAYERS));
  const edits: Readonly<Record<string, () => void>> = {
    'open and save': () => {},
    'other line ends': () =>
      Object.assign(styles.get(random.pick(STYLES)) ?? {}, { lineEnd: random.pick(['\n', '\r\n']) }),
    'other indent': () =>
      Object.assign(styles.get(random.pick(STYLES)) ?? {}, { indent: random.pick(['', '  ', '\t']) }),
    'another colour': () => Object.assign(styles.get(random.pick(STYLES)) ?? {}, { colour: random.below(3) }),
    'another title': () => Object.assign(layerOf() ?? {}, { title: `Title ${random.below(9)}` }),
    'other data': () => Object.assign(layerOf() ?? {}, { nativeName: `table_${random.below(3)}` }),
    'another default style': () => Object.assign(layerOf() ?? {}, { style: random.pick(STYLES) }),
    'other styles': () =>
      Object.assign(layerOf() ?? {}, { styles: STYLES.filter(() => random.below(4) === 0) }),
    'another group': () => {
      const name = random.pick(GROUPS);
      const parts = mock.groups.get(name) ?? [];
      const at = random.below(parts.length);
      if (random.below(3) === 0) parts.reverse();
      else if (parts.length > 1 && random.below(2) === 0) parts.splice(at, 1);
      else parts.splice(at, random.below(2), newPart(name));
    },
  };

  const server = await openServer({
    config: JSON.stringify({
      follow: [
        {
          name: 'city',
          type: 'geoserver',
          url: mock.url,
          every: 86_400,
          layers: ['topp:*'],
          gridSets: ['EPSG:900913'],
          ...GEOSERVER_LOGIN,
        },
      ],
    }),
    flags: { 'no-auth': 'true' },
  });
  const call = async (path: string, method = 'GET') =>
    (await fetch(`${server.url}/api/v1/follow${path}`, { method })).json() as Promise<{
      follow: { lastAt: string | null }[];
      entries: { action: string; layer: string }[];
    }>;
  await eventually(
    'the first pass',
    () => call(''),
    ({ follow }) => typeof follow[0]?.lastAt === 'string',
  );

  let marks = 0;
  let pictures = picturesNow();
  for (let round = 0; round < ROUNDS; round++) {
    const done = Array.from({ length: 1 + random.below(2) }, () => random.pick(Object.keys(edits)));
    for (const name of done) edits[name]?.();
    write();
    const now = picturesNow();
    const changed = [...now].filter(([key, picture]) => (pictures.get(key) ?? picture) !== picture);
    const expected = new Set(changed.map(([key]) => key.replace(/ .*/, '')));
    const { entries } = await call('/city/run', 'POST');
    const marked = entries.filter(({ action }) => action === 'marked').map(({ layer }) => layer);
    expect(marked.sort(), `round ${round}: ${done.join(', ')}`).toEqual([...expected].sort());
    marks += marked.length;
    pictures = now;
  }
  expect(marks).toBeGreaterThan(ROUNDS / 10);
  await server.stop();
});
