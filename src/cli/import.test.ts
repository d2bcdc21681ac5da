import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { settingsSchema } from '../config/settings-schema.ts';
import { parseYamlFile } from '../lib/yaml-file.ts';
import { importCommand } from './import.ts';
import { runCli } from './run-cli.ts';

const CONFIGURATION = `
layers: [{ name: a, title: A, sources: [cache] }]
caches: { cache: { grids: [GLOBAL_MERCATOR], sources: [used] } }
sources:
  used: { type: wms, req: { url: 'http://maps.test/wms', layers: a } }
  unused: { type: wms, req: { url: 'http://maps.test/wms', layers: b } }
`;

it('the report of an import names what was left out entirely', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'mapproxy.yaml'), CONFIGURATION);
  let report = '';
  const err = (text: string) => {
    report += text;
  };
  await runCli(['import', join(folder, 'mapproxy.yaml')], [importCommand], { out: () => {}, err });
  expect(report).toContain('left out  source unused (entirely): no imported layer uses it\n');
});

it("an import writes GeoWebCache's updateSources as feeds of the configuration file", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const feed = (gridSet: string) => `<geoRssFeed><feedUrl>http://maps.test/rss</feedUrl>
    <gridSetId>${gridSet}</gridSetId><pollInterval>300</pollInterval><operation>reseed</operation></geoRssFeed>`;
  const layer = (name: string) => `<wmsLayer><name>${name}</name>
    <updateSources>${feed('EPSG:4326')}${feed('EPSG:900913')}</updateSources>
    <wmsUrl><string>http://maps.test/wms</string></wmsUrl></wmsLayer>`;
  writeFileSync(
    join(folder, 'geowebcache.xml'),
    `<gwcConfiguration><layers>${layer('topp:a')}${layer('topp-a')}</layers></gwcConfiguration>`,
  );
  let yaml = '';
  const out = (text: string) => {
    yaml += text;
  };
  await runCli(['import', folder], [importCommand], { out, err: () => {} });
  const { value } = parseYamlFile('imported.yaml', yaml);
  const { layers, changes } = settingsSchema.parse(value);
  expect(layers.map(({ updateSources }) => updateSources)).toEqual([[], []]);
  expect(new Set(changes.map(({ name }) => name)).size).toBe(4);
  const rest = { type: 'georss', url: 'http://maps.test/rss', intervalSeconds: 300, action: 'renew' };
  expect(changes.slice(0, 2)).toMatchObject([
    { name: expect.stringMatching(/^topp-a-/), layers: ['topp:a'], srs: 'EPSG:4326', ...rest },
    { name: expect.stringMatching(/^topp-a-/), layers: ['topp:a'], srs: 'EPSG:900913', ...rest },
  ]);
});

it('a data folder of GeoServer is read with its catalog', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const resource = '<featureType><id>f</id><name>roads</name><namespace><id>n</id></namespace></featureType>';
  write('gwc-layers/l.xml', '<GeoServerTileLayer><id>l</id><name>old</name></GeoServerTileLayer>');
  write('workspaces/topp/namespace.xml', '<namespace><id>n</id><prefix>topp</prefix></namespace>');
  write('workspaces/topp/files/roads/featuretype.xml', resource);
  write('workspaces/topp/files/roads/layer.xml', '<layer><id>l</id><resource><id>f</id></resource></layer>');
  write('workspaces/topp/styles/broken.xml', '<style><id>s</id><name>s</name></style>');
  write('styles/icons/notes.txt', 'not read');
  let yaml = '';
  const out = (text: string) => {
    yaml += text;
  };
  await runCli(['import', folder], [importCommand], { out, err: () => {} });
  expect(parseYamlFile('imported.yaml', yaml).value).toMatchObject({ layers: [{ name: 'topp:roads' }] });
});

function createTerminal() {
  const written = { yaml: '', errors: '' };
  return {
    written,
    out(text: string) {
      written.yaml += text;
    },
    err(text: string) {
      written.errors += text;
    },
  };
}

it('a mapproxy.yaml is merged over the files that it names as base', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [layers, ...rest] = CONFIGURATION.trim().split('\n');
  writeFileSync(join(folder, 'base.yaml'), rest.join('\n'));
  writeFileSync(
    join(folder, 'mapproxy.yaml'),
    `${layers}\nbase: base.yaml\ncaches: { cache: { meta_size: [2, 2] } }\n`,
  );
  writeFileSync(join(folder, 'round.yaml'), 'base: [round.yaml]\nlayers: []\n');
  const terminal = createTerminal();
  await runCli(['import', join(folder, 'mapproxy.yaml')], [importCommand], terminal);
  expect(parseYamlFile('imported.yaml', terminal.written.yaml).value).toMatchObject({
    layers: [{ name: 'a', metatile: [2, 2], source: { layers: 'a' } }],
  });
  await runCli(['import', join(folder, 'round.yaml')], [importCommand], terminal);
  expect(terminal.written.errors).toContain('name each other');
});

it('groups of MapProxy are imported with all of their layers, or not at all', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [, ...rest] = CONFIGURATION.trim().split('\n');
  const layers = `
layers:
  - name: all
    title: All
    layers:
      - { name: a, title: A, sources: [cache] }
      - { title: untitled, layers: [{ name: b, title: B, sources: [cache] }] }
      - { name: lower, title: Lower, layers: [{ name: c, title: C, sources: [cache] }] }
  - { name: broken, title: Broken, layers: [{ name: gone, title: Gone, sources: [none] }] }`;
  writeFileSync(join(folder, 'mapproxy.yaml'), [layers, ...rest].join('\n'));
  writeFileSync(join(folder, 'seed.yaml'), 'seeds: { nightly: { caches: [cache] } }');
  const terminal = createTerminal();
  await runCli(['import', folder], [importCommand], terminal);
  const schedules = [expect.objectContaining({ name: 'nightly', enabled: false })];
  expect(settingsSchema.parse(parseYamlFile('imported.yaml', terminal.written.yaml).value)).toMatchObject({
    layers: ['a', 'b', 'c'].map((name) => ({ name, schedules })),
    groups: [
      { name: 'all', title: 'All', layers: ['a', 'b', 'lower'] },
      { name: 'lower', layers: ['c'] },
    ],
  });
  expect(terminal.written.errors).toContain('group broken (entirely): its layer gone was not imported');
});
