import { expect, it } from 'vitest';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { MAX_POINTS, polygonsIn } from '../../domain/place-in-grid-set.ts';
import { readGeoRss } from './read-georss.ts';

const BOX = [
  [
    [0, 40],
    [10, 40],
    [10, 50],
    [0, 50],
    [0, 40],
  ],
];
/** So many positions on the border of the box, latitude first. */
const border = (count: number) =>
  Array.from({ length: count }, (_, i) => `${i % 2 ? 40 : 50} ${i === 0 ? 0 : (10 * i) / (count - 1)}`).join(
    ' ',
  );
const read = async (shape: string) => {
  const [entry] = await readGeoRss(Buffer.from(`<feed><entry><id>a</id>${shape}</entry></feed>`), 4326);
  return entry?.place;
};

it.each(['polygon', 'line'])('a %s of more than 10,000 points is the box around it', async (name) => {
  const place = await read(`<${name}>${border(MAX_POINTS + 1)}</${name}>`);
  expect(place).toEqual({ srs: 4326, polygons: [BOX] });
});

it('a hole of more than 10,000 points does not cut into its polygon', async () => {
  const ring = (list: string) => `<LinearRing><posList>${list}</posList></LinearRing>`;
  const outer = ring('40 0 40 10 50 10 50 0 40 0');
  const place = await read(`<where><Polygon>${outer}${ring(border(MAX_POINTS + 1))}</Polygon></where>`);
  expect(place).toEqual({ srs: 4326, polygons: [BOX] });
});

it('shapes of one entry together keep at most 10,000 points', async () => {
  const place = await read(`<polygon>${border(9000)}</polygon><polygon>${border(9000)}</polygon>`);
  expect(place).toEqual({ srs: 4326, polygons: [BOX, BOX] });
});

it.each([
  ['1 2 3', 'are not pairs of numbers'],
  [`1 ${'2'.repeat(20_000)}`, 'are not pairs of numbers'],
  ['91 0 92 0 93 0', 'latitudes from -90 to 90'],
])('coordinates that cannot be used are reported: %.10s', async (list, message) => {
  expect(await read(`<polygon>${list}</polygon>`)).toContain(message);
});

it('a ring of long edges has at most 10,000 points in another CRS and still covers its place', async () => {
  const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
  const place = await read(
    `<polygon>${Array.from({ length: 5000 }, (_, i) => `${i % 2 ? -60 : 60} ${-80 + i / 50}`).join(' ')}</polygon>`,
  );
  if (!gridSet || typeof place !== 'object') throw new Error('the grid set or the place is missing');
  const { polygons } = await polygonsIn(gridSet, 18, place, async () => {});
  const points = polygons.flat(2);
  expect(points.length).toBeLessThanOrEqual(MAX_POINTS);
  expect(Math.min(...points.map(([x]) => x))).toBeCloseTo((-80 / 180) * 20037508.34, -1);
  expect(Math.max(...points.map(([x]) => x))).toBeCloseTo((19.98 / 180) * 20037508.34, -1);
});

it('an element of another namespace within an entry is no entry', async () => {
  const other = '<x:items xmlns:x="urn:x"><x:item>1</x:item></x:items>';
  expect(await read(`${other}<point>45 5</point>`)).toMatchObject({ srs: 4326 });
  const feed = `<feed><entry><id>a</id>${other}<point>45 5</point></entry></feed>`;
  expect((await readGeoRss(Buffer.from(feed), 4326)).map(({ id }) => id)).toEqual(['a']);
});

it('the first item of RSS 1.0 is whole however many items its channel lists', async () => {
  const list = `<channel><items><Seq>${'<li/>'.repeat(50_001)}</Seq></items></channel>`;
  const feed = `<RDF>${list}<item><link>a</link><point>45 5</point></item></RDF>`;
  expect(await readGeoRss(Buffer.from(feed), 4326)).toMatchObject([{ id: 'a', place: { srs: 4326 } }]);
});
