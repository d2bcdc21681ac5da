import { expect, it } from 'vitest';
import { joinFeatureInfo } from './join-feature-info.ts';

const join = (mediaType: string, ...texts: string[]) =>
  joinFeatureInfo(
    mediaType,
    texts.map((text) => Buffer.from(text)),
  ).toString();

it('feature info of several layers in JSON is one collection of their features', () => {
  const one = {
    type: 'FeatureCollection',
    totalFeatures: 1,
    features: [{ type: 'Feature', id: 'a' }],
    crs: null,
  };
  const two = { type: 'Feature', id: 'b' };
  const joined = JSON.parse(join('application/json', JSON.stringify(one), JSON.stringify(two)));
  expect(joined).toEqual({ type: 'FeatureCollection', crs: null, features: [...one.features, two] });
  expect(JSON.parse(join('application/geo+json', '{"a":1}', '{"b":2}'))).toEqual([{ a: 1 }, { b: 2 }]);
});

it('feature info of several layers in GML has all features in one root, with the namespaces of both', () => {
  const gml = (prefix: string, feature: string) =>
    `<?xml version="1.0"?><wfs:FeatureCollection xmlns:wfs="w" xmlns:${prefix}="urn:${prefix}"><gml:boundedBy><x/></gml:boundedBy>${feature}</wfs:FeatureCollection>`;
  const joined = join('application/vnd.ogc.gml', gml('a', '<a:hill/>'), gml('b', '<b:lake/>'));
  expect(joined).toContain(
    '<wfs:FeatureCollection xmlns:wfs="w" xmlns:a="urn:a" xmlns:b="urn:b"><a:hill/><b:lake/>',
  );
  expect(joined).not.toContain('boundedBy');
});

it('feature info in XML with other roots, or other meanings of a prefix, stays side by side', () => {
  expect(join('text/xml', '<a><b/></a>', '<c/>')).toContain('<FeatureInfo><a><b/></a>\n<c/></FeatureInfo>');
  expect(join('text/xml', '<a xmlns:p="1"/>', '<a xmlns:p="2"/>')).toContain('<FeatureInfo>');
});

it('feature info of several layers in HTML has all bodies in the first page', () => {
  const joined = join(
    'text/html',
    '<html><head><style>x</style></head><body class="a">one</body></html>',
    '<body>two</body>',
    'three',
  );
  expect(joined).toBe('<html><head><style>x</style></head><body class="a">onetwo\nthree</body></html>');
});

it('feature info of several layers in text is one after the other, and of one layer as it came', () => {
  expect(join('text/plain', 'one', 'two\n')).toBe('one\ntwo\n');
  expect(join('text/plain', 'one')).toBe('one');
});

it('feature info of several layers is refused when it is too long to be joined in one turn', () => {
  const long = 'a'.repeat(600_000);
  expect(() => join('text/plain', long, long)).toThrow('more than 1 MiB');
  expect(join('text/plain', long)).toHaveLength(600_000);
});

it('feature info of no layer is an empty document', () => {
  expect(JSON.parse(join('application/json'))).toEqual({ type: 'FeatureCollection', features: [] });
  expect(join('text/plain')).toBe('');
  expect(join('text/xml')).toContain('<FeatureInfo></FeatureInfo>');
});
