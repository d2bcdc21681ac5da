import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadSettings } from './load-settings.ts';
import { SettingsError } from './settings-error.ts';

async function problemsOf(
  yaml: string,
  files: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-settings-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ ...files, 'tilewarden.yaml': yaml })) {
    writeFileSync(join(folder, name), text);
  }
  try {
    await loadSettings({ flags: {}, environment: {}, workingFolder: folder });
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('problems of several kinds in one file', () => {
  it('the problem of a misplaced key names the section that has it', async () => {
    const layer = "layers: [{ name: a, url: 'http://a/', source: { type: wms, layers: b } }]";
    expect(await problemsOf(`port: 8080\n${layer}\n`)).toEqual([
      'tilewarden.yaml:2:47  layers[0].source.url is missing; it must be text or a list',
      'tilewarden.yaml:2:21  layers[0].url is not a setting; did you mean source.url?',
      'tilewarden.yaml:1:1  port is not a setting; did you mean server.port?',
    ]);
  });

  it('an area in a file is read although another setting is faulty', async () => {
    const areas = (file: string) => `areas: [{ name: town, file: ${file} }]\nport: 8080\n`;
    const misplaced = expect.stringContaining('port is not a setting');
    const shape = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 0],
        ],
      ],
    };
    const read = { 'town.geojson': JSON.stringify(shape) };
    expect(await problemsOf(areas('town.geojson'), read)).toEqual([misplaced]);
    expect(await problemsOf(areas('city.geojson'))).toEqual([
      misplaced,
      expect.stringContaining('areas[0].file cannot be read: city.geojson (ENOENT)'),
    ]);
  });

  it.each(['http://maps.example.org', 'Maps.example.org', 'maps.example.org/wms', 'a:0', 'maps example'])(
    'a key of upstreams that is not a host is a problem: %s',
    async (key) => {
      expect(await problemsOf(`upstreams: { '${key}': { concurrency: 2 } }\n`)).toEqual([
        expect.stringMatching(/upstreams.*must be a host in lower case, or host and port/),
      ]);
    },
  );

  it('groups are a tree of layers and groups, with names of their own', async () => {
    const layer = (name: string) =>
      `  - { name: ${name}, source: { type: wms, url: 'http://a/', layers: b } }\n`;
    const layers = `layers:\n${layer('a')}${layer('b')}`;
    const groupsOf = (...groups: string[]) =>
      problemsOf(`${layers}groups:\n${groups.map((group) => `  - ${group}\n`).join('')}`);
    expect(await groupsOf('{ name: c, layers: [a, d] }', '{ name: d, title: D, layers: [a, b] }')).toEqual(
      [],
    );
    expect(
      await groupsOf('{ name: c, layers: [roads] }', '{ name: a, layers: [b] }', '{ name: c, layers: [b] }'),
    ).toEqual([
      expect.stringContaining('layers[0].name is the name of a group'),
      expect.stringContaining('groups[0].layers[0] names the layer or group roads, which is not declared'),
      expect.stringContaining('groups[2].name is not unique: another group is named c'),
    ]);
    expect(
      await groupsOf('{ name: c, layers: [d] }', '{ name: d, layers: [e] }', '{ name: e, layers: [c] }'),
    ).toEqual([expect.stringContaining('groups[2].layers[0] names the group c, which would be in itself')]);
    expect(await groupsOf('{ name: c, layers: [c] }')).toHaveLength(1);
    expect(
      await groupsOf('{ name: c, layers: [e] }', '{ name: d, layers: [e] }', '{ name: e, layers: [a] }'),
    ).toEqual([expect.stringContaining('groups[1].layers[0] names the group e, which is in c already')]);
  });

  it('keys of upstreams that are hosts are accepted', async () => {
    const keys = [
      'localhost',
      '10.0.0.1',
      'maps.example.org:8080',
      '[::1]:80',
      'geo_server',
      'xn--mnchen-3ya.de',
    ];
    for (const key of keys)
      expect(await problemsOf(`upstreams: { '${key}': { concurrency: 2 } }\n`)).toEqual([]);
  });

  it('problems of a file are all reported together, whatever finds them', async () => {
    const yaml = `
port: 8080
log: { level: loud }
gridSets:
  - { name: own, srs: 2154, extent: [0, 0, 1, 1], levels: none }
layers:
  - { name: a, source: { type: wms, url: 'ftp://a/wms', layers: b }, gridSets: [EPSG:9009133, own] }
  - { name: a, source: { type: world }, store: elsewhere }
  - { name: c, source: { type: layer, layer: d }, gridSets: [EPSG:9009133], unknown: 1 }
  - { name: e, source: { type: layer, layer: a } }
`;
    expect((await problemsOf(yaml)).map((problem) => problem.replace(/;.*$| must .*$/, ''))).toEqual([
      'tilewarden.yaml:3:15  log.level',
      'tilewarden.yaml:5:59  gridSets[0].levels',
      'tilewarden.yaml:7:42  layers[0].source.url',
      'tilewarden.yaml:9:77  layers[2].unknown is not a setting',
      'tilewarden.yaml:2:1  port is not a setting',
      'tilewarden.yaml:7:81  layers[0].gridSets[0] names the grid set EPSG:9009133, which is not declared',
      'tilewarden.yaml:8:13  layers[1].name is not unique: another layer is named a',
      'tilewarden.yaml:8:48  layers[1].store names the store elsewhere, which is not declared',
      'tilewarden.yaml:9:62  layers[2].gridSets[0] names the grid set EPSG:9009133, which is not declared',
    ]);
  });

  it('problems of a file do not call an incorrect entry missing', async () => {
    const yaml = `
stores: { default: { type: bundle }, shared: { type: nfs } }
gridSets: [{ name: own, srs: 0, extent: [0, 0, 1, 1], levels: 3 }]
layers:
  - { name: a, source: { type: wmz }, gridSets: [{ name: own, zoomStop: 2 }], store: shared, schedules: [] }
  - { name: b, source: { type: layer, layer: a, gridSet: own }, gridSets: [own] }
  - { source: { type: world } }
`;
    expect((await problemsOf(yaml)).map((problem) => problem.split(' ')[2])).toEqual([
      'stores.shared.type',
      'gridSets[0].srs',
      'layers[0].source.type',
      'layers[2].name',
    ]);
  });

  it('problems of a file are found beside an absent secret', async () => {
    const source = "{ type: wms, url: 'http://a/', layers: b, username: c, password: { env: ABSENT } }";
    const yaml = `layers: [{ name: a, source: ${source}, gridSets: [EPSG:1] }]\n`;
    expect(await problemsOf(yaml)).toEqual([
      expect.stringContaining('layers[0].source.password'),
      expect.stringContaining('layers[0].gridSets[0] names the grid set EPSG:1, which is not declared'),
    ]);
  });
});
