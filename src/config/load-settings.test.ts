import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SettingsInput } from './environment.ts';
import { describeSettings, type LoadedSettings, loadSettings } from './load-settings.ts';
import { SettingsError } from './settings-error.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-settings-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function load(yaml: string | null, input: Partial<SettingsInput> = {}): Promise<LoadedSettings> {
  if (yaml !== null) writeFileSync(join(folder, 'tilewarden.yaml'), yaml);
  return loadSettings({ flags: {}, environment: {}, workingFolder: folder, ...input });
}

async function problemsOf(yaml: string | null, input: Partial<SettingsInput> = {}) {
  try {
    await load(yaml, input);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

const WMS_LAYER = `
  - name: topp:states
    source: { type: wms, url: 'http://127.0.0.1:8090/wms', layers: states }
`;

describe('settings without a file', () => {
  it('settings without a file offer the world on loopback', async () => {
    const { settings, configFile } = await load(null);
    expect(configFile).toBeNull();
    expect(settings.server).toEqual({
      host: '127.0.0.1',
      port: 8080,
      accessLog: { file: null, format: 'combined' },
      processes: 1,
      prefixes: ['', '/geowebcache', '/geoserver/gwc'],
      compatibility: [],
      trustedProxies: [],
      publicUrl: null,
      surrogateKeys: null,
      tls: null,
    });
    expect(settings.data).toBe(join(folder, 'data'));
    expect(settings.memoryTierBytes).toBe(64 * 2 ** 20);
    expect(settings.stores).toMatchObject({ default: { type: 'bundle' } });
    expect(settings.layers).toMatchObject([
      {
        name: 'world',
        formats: ['image/png', 'image/jpeg', 'image/webp'],
        gridSets: [
          { name: 'EPSG:900913', zoomStop: 12 },
          { name: 'EPSG:4326', zoomStop: 12 },
        ],
        parameters: [{ default: 'light', values: ['light', 'dark', 'outline'] }],
      },
    ]);
  });
});

describe('precedence', () => {
  const yaml = 'server: { host: 127.0.0.2, port: 1000 }\ndata: tiles\n';

  it('settings come from flags, then the environment, then the file, then defaults', async () => {
    const environment = { TILEWARDEN_PORT: '2000', TILEWARDEN_LOG_LEVEL: 'debug' };
    const { settings } = await load(yaml, { environment, flags: { port: '3000' } });
    expect(settings.server.port).toBe(3000);
    expect(settings.log.level).toBe('debug');
    expect(settings.server.host).toBe('127.0.0.2');
    expect((await load(yaml, { environment })).settings.server.port).toBe(2000);
    expect((await load(yaml)).settings.server.port).toBe(1000);
  });

  it('a folder in the file is relative to the file, and one in a flag relative to the caller', async () => {
    writeFileSync(join(folder, 'other.yaml'), 'data: tiles\n');
    const elsewhere = tmpdir();
    const flags = { config: join(folder, 'other.yaml') };
    expect((await load(null, { flags, workingFolder: elsewhere })).settings.data).toBe(join(folder, 'tiles'));
    expect(
      (await load(null, { flags: { ...flags, data: 'd' }, workingFolder: elsewhere })).settings.data,
    ).toBe(join(elsewhere, 'd'));
  });

  it('tilewarden.yaml is found beside the data folder', async () => {
    const { configFile } = await load(yaml, { flags: { data: join(folder, 'd') }, workingFolder: tmpdir() });
    expect(configFile).toBe(join(folder, 'tilewarden.yaml'));
  });

  it('an empty environment variable counts as not set', async () => {
    expect((await load(yaml, { environment: { TILEWARDEN_PORT: '' } })).settings.server.port).toBe(1000);
  });
});

describe('problems', () => {
  it('problems of settings name the line, the column, the path and the allowed values', async () => {
    const yaml = `layers:${WMS_LAYER}    formats: [image/png, image/bmp]\n`;
    expect(await problemsOf(yaml)).toEqual([
      expect.stringMatching(
        /^tilewarden\.yaml:4:26 {2}layers\[0\]\.formats\[1\] must be one of image\/png, .*, got "image\/bmp"$/,
      ),
    ]);
  });

  it('options of formats are refused where the format does not have them', async () => {
    const yaml = `layers:${WMS_LAYER}    formats: [{ type: image/png, quality: 80 }, { type: image/webp, colors: 9 }, { type: image/jpeg, quality: 0 }]\n`;
    expect((await problemsOf(yaml)).map((problem) => problem.replace(/^\S+ +/, ''))).toEqual([
      'layers[0].formats[0].quality image/png has no options, got 80',
      'layers[0].formats[1].colors image/webp has only quality, lossless, got 9',
      'layers[0].formats[2].quality must be at least 1, got 0',
    ]);
  });

  it.each([
    ["{ name: TIME, type: time, values: '2026-01-01/now' }", /2026-01-01\/now must be a time such as/],
    ['{ name: TIME, type: time }', /parameters\[0\] needs one of values and from/],
    ["{ name: TIME, type: time, values: '2026', every: 5 }", /every goes only with from/],
    ['{ name: TIME, type: time, from: { postgres: { url: x, query: y } } }', /must be a postgres:\/\/ URL/],
    ["{ name: TIME, type: time, values: '2026', seed: { latest: 6 } }", /seed.zoomStop is missing/],
    ["{ name: A, values: ['a'], seed: { latest: 1, zoomStop: 2 } }", /seed goes only with type: time/],
    ["{ name: TIME, type: time, values: '2026', regex: a }", /regex does not go with type: time/],
    [
      "{ name: TIME, type: time, values: '2026', default: soon }",
      /The default of parameter TIME must be latest or/,
    ],
    ["{ name: TIME, type: time, values: '2026', keep: 7 days }", /keep must be a period such as P7D/],
    ["{ name: A, values: 'a' }", /values must be a list/],
    ["{ name: A, values: ['a'], nearest: true }", /nearest goes only with type: time/],
  ])('the parameter %s is refused', async (parameter, problem) => {
    expect(await problemsOf(`layers:${WMS_LAYER}    parameters: [${parameter}]\n`)).toEqual([
      expect.stringMatching(problem),
    ]);
  });

  it('problems of settings are found inside the alternative that was meant', async () => {
    const yaml = `layers:${WMS_LAYER}    gridSets: [EPSG:900913, { name: EPSG:4326, zoomStop: ten }]\n`;
    expect(await problemsOf(yaml)).toEqual([
      'tilewarden.yaml:4:58  layers[0].gridSets[1].zoomStop must be a number, got "ten"',
    ]);
  });

  it('problems of settings report unknown keys with what was probably meant', async () => {
    expect(
      await problemsOf(`layer: []\nserver:\n  prot: 80\nlayers:${WMS_LAYER}    metatiles: [4, 4]\n`),
    ).toEqual([
      'tilewarden.yaml:3:3  server.prot is not a setting; did you mean port?',
      'tilewarden.yaml:7:5  layers[0].metatiles is not a setting; did you mean metatile?',
      'tilewarden.yaml:1:1  layer is not a setting; did you mean layers?',
    ]);
  });

  it('problems of settings list the known keys when none is near', async () => {
    expect(await problemsOf('log: { colour: true }\n')).toEqual([
      'tilewarden.yaml:1:8  log.colour is not a setting; known here: level',
    ]);
  });

  it('problems of settings list the kinds of source', async () => {
    const [problem] = await problemsOf('layers:\n  - { name: a, source: { type: wmss } }\n');
    expect(problem).toMatch(
      /^tilewarden\.yaml:2:32 {2}layers\[0\]\.source\.type must be one of .*wms.*, got "wmss"; did you mean wms\?$/,
    );
  });

  it('problems of settings name missing fields', async () => {
    expect(await problemsOf('layers:\n  - source: { type: world }\n')).toEqual([
      'tilewarden.yaml:2:5  layers[0].name is missing; it must be text',
    ]);
  });

  it.each([`''`, `' '`, '[]'])('problems of settings include a WMS without a layer: %s', async (layers) => {
    const source = `{ type: wms, url: 'http://127.0.0.1:1/wms', layers: ${layers} }`;
    const [problem] = await problemsOf(`layers:\n  - { name: a, source: ${source} }\n`);
    expect(problem).toContain('layers[0].source.layers must name a layer');
  });

  it('problems of settings include unknown and repeated names', async () => {
    const yaml = `layers:${WMS_LAYER}    gridSets: [EPSG:900914]${WMS_LAYER}    store: defualt\n`;
    expect(await problemsOf(yaml)).toEqual([
      'tilewarden.yaml:4:16  layers[0].gridSets[0] names the grid set EPSG:900914, which is not declared; did you mean EPSG:900913?',
      'tilewarden.yaml:5:11  layers[1].name is not unique: another layer is named topp:states',
      'tilewarden.yaml:7:12  layers[1].store names the store defualt, which is not declared; did you mean default?',
    ]);
  });

  it('problems of settings include dense tiles that a source cannot draw', async () => {
    const xyz = `{ type: xyz, url: 'http://127.0.0.1:1/{z}/{x}/{y}.png' }`;
    const yaml = `layers:\n  - { name: a, source: ${xyz}, retina: true, gridSets: ['EPSG:900913'] }\n`;
    const [problem, ...others] = await problemsOf(yaml);
    expect(problem).toMatch(
      /^tilewarden\.yaml:2:90 {2}layers\[0\]\.retina needs a source that draws \(wms.*\); one of type xyz has its tiles ready-made$/,
    );
    expect(others).toEqual([]);
  });

  it('problems of settings include an unusable regular expression', async () => {
    const [problem] = await problemsOf(`layers:${WMS_LAYER}    parameters: [{ name: A, regex: '(' }]\n`);
    expect(problem).toMatch(/^tilewarden\.yaml:2:5 {2}layers\[0\] cannot be used: The regex of parameter A/);
  });

  it('problems of settings name flags and variables', async () => {
    expect(
      await problemsOf(null, { flags: { port: 'http' }, environment: { TILEWARDEN_LOG_LEVEL: 'loud' } }),
    ).toEqual([
      '--port  must be a number, got "http"',
      'TILEWARDEN_LOG_LEVEL  must be one of debug, info, warn, error, silent, got "loud"',
    ]);
  });

  it.each([
    ['many', 'must be a number from 1 to 256, or auto, got "many"'],
    ['0', 'must be at least 1, got 0'],
  ])('processes %s are refused: %s', async (processes, problem) => {
    expect(await problemsOf(null, { flags: { processes } })).toEqual([`--processes  ${problem}`]);
    expect(await problemsOf(null, { flags: { processes: 'auto' } })).toEqual([]);
  });

  it('problems of settings include mistakes in the YAML itself', async () => {
    expect((await problemsOf('server: { port: 1\nlayers: []\n'))[0]).toMatch(/^tilewarden\.yaml:2:\d+ {2}/);
    expect((await problemsOf('server: {}\nserver: {}\n'))[0]).toMatch(
      /^tilewarden\.yaml:2:1 {2}.*duplicated mapping key/,
    );
    expect((await problemsOf('- a\n'))[0]).toMatch(/must be a map/);
  });

  it('problems of settings include an absent file', async () => {
    expect(await problemsOf(null, { flags: { config: 'nowhere.yaml' } })).toEqual([
      '--config  there is no file nowhere.yaml',
    ]);
  });

  it('problems of settings include a parameter whose allowed values are declared in two ways', async () => {
    const yaml = `layers:${WMS_LAYER}    parameters: [{ name: A, values: [a], regex: b }]\n`;
    expect(await problemsOf(yaml)).toEqual([
      'tilewarden.yaml:4:18  layers[0].parameters[0] needs only one of values, regex, integers and floats',
    ]);
  });
});

describe('grid sets of one’s own', () => {
  it('declared grid sets can be used by layers', async () => {
    const yaml = `
gridSets:
  - { name: LAMB93, srs: 2154, extent: [0, 6000000, 1300000, 7200000], resolutions: [1000, 500], tileSize: 512 }
layers:${WMS_LAYER}    gridSets: [LAMB93]
`;
    const { settings } = await load(yaml);
    expect(settings.gridSets.find('LAMB93')).toMatchObject({ srs: 2154, tileWidth: 512, tileHeight: 512 });
  });

  it('declared grid sets are refused when the name is taken or the levels are declared twice', async () => {
    const yaml = `
gridSets:
  - { name: EPSG:4326, srs: 4326, extent: [-180, -90, 180, 90], levels: 3 }
`;
    expect((await problemsOf(yaml))[0]).toMatch(
      /^tilewarden\.yaml:3:5 {2}gridSets\[0\] cannot be used: .*EPSG:4326/,
    );
    const twice = yaml.replace('levels: 3', 'levels: 3, resolutions: [1]');
    expect((await problemsOf(twice))[0]).toMatch(/gridSets\[0\] needs exactly one of/);
  });
});

describe('secrets', () => {
  const yaml = `
layers:
  - name: a
    source:
      type: wms
      url: 'http://127.0.0.1:8090/wms'
      layers: states
      username: anna
      password: { env: WMS_PASSWORD }
      headers: { X-Key: { file: key.txt } }
`;

  it('secrets come from the environment and from files', async () => {
    writeFileSync(join(folder, 'key.txt'), 'k3y\n');
    const { settings } = await load(yaml, { environment: { WMS_PASSWORD: 'pa55' } });
    expect(settings.layers[0]?.source).toMatchObject({ password: 'pa55', headers: { 'X-Key': 'k3y' } });
  });

  it('secrets are masked when the settings are shown', async () => {
    writeFileSync(join(folder, 'key.txt'), 'k3y\n');
    const shown = describeSettings(
      await load(yaml, {
        environment: { WMS_PASSWORD: 'pa55' },
        flags: { database: 'postgres://tiles:hidden@127.0.0.1/db' },
      }),
    );
    expect(shown).not.toMatch(/pa55|k3y|hidden/);
    expect(shown).toContain('postgres://tiles:********@127.0.0.1/db');
  });

  it('secrets that cannot be found are problems, and no problem shows a secret', async () => {
    expect(await problemsOf(yaml)).toEqual([
      'tilewarden.yaml:9:17  layers[0].source.password refers to the environment variable WMS_PASSWORD, which is not set',
      'tilewarden.yaml:10:25  layers[0].source.headers.X-Key refers to the file key.txt, which cannot be read (ENOENT)',
    ]);
    expect(await problemsOf('database: { env: NO_DATABASE }')).toEqual([
      'tilewarden.yaml:1:11  database refers to the environment variable NO_DATABASE, which is not set',
    ]);
    const literal = yaml.replace('{ env: WMS_PASSWORD }', '[hush]').replace('{ file: key.txt }', 'x');
    expect((await problemsOf(literal)).join()).not.toContain('hush');
  });
});

describe('shown settings', () => {
  it('shown settings are a configuration file that means the same', async () => {
    const yaml = `
memoryTier: { size: 1 GiB }
layers:${WMS_LAYER}    gridSets: [{ name: EPSG:4326, zoomStop: 10, extent: [-130, 20, -60, 55] }]
    parameters: [{ name: TIME, default: 5, integers: [5, 10], threshold: 2 }]
`;
    const first = await load(yaml);
    const second = await load(describeSettings(first));
    expect(second.settings.layers).toEqual(first.settings.layers);
    expect(second.settings.memoryTierBytes).toBe(2 ** 30);
  });

  it('settings with thousands of layers are shown in a few hundred lines unless all are wanted', async () => {
    const layers = Array.from({ length: 2001 }, (_, i) => WMS_LAYER.replace(/name: \S+/, `name: l${i}`));
    const loaded = await load(`layers:${layers.join('')}`);
    const short = describeSettings(loaded, false);
    expect(short.split('\n').length).toBeLessThan(1000);
    expect(short).toContain('name: l9\n');
    expect(short).not.toContain('name: l10\n');
    expect(short).toMatch(/# layers: the first 10 of 2001; --all prints them all\n$/);
    expect(describeSettings(loaded)).toContain('name: l2000\n');
  });

  it('a feed of a layer that the file lacks is a warning, with its place', async () => {
    const feed = '{ name: hook, type: webhook, secret: s3cret, layers: [states, parcels] }';
    const { warnings } = await load(
      `layers:${WMS_LAYER.replace(/name: \S+/, 'name: states')}changes:\n  - ${feed}\n`,
    );
    expect(warnings).toEqual([
      expect.stringMatching(
        /^tilewarden\.yaml:\d+:\d+ {2}changes\[0\]\.layers\[1\] names the layer parcels, which is not in this file/,
      ),
    ]);
  });
});

describe('what is secret', () => {
  const SECRETS = `
database: postgres://tilewarden@db/tiles?password=OPEN-SESAME
layers:
  - name: a
    source: { type: wms, url: 'http://maps.test/wms?map=a&api_key=OPEN-SESAME', layers: a, vendorParameters: { authkey: OPEN-SESAME } }
  - { name: b, gridSets: [EPSG:900913], source: { type: xyz, url: 'http://tiles.test/{z}/{x}/{y}.png?token=OPEN-SESAME' } }
stores: { default: { type: azure, container: tiles, account: a, key: OPEN-SESAME } }
adoptBuckets: { old: { type: azure, container: tiles, connectionString: 'AccountKey=OPEN-SESAME' } }
`;

  it.each(['postgres//u:OPEN-SESAME@db/tiles', 'postgres:/u:OPEN/SESAME@db', 'http://u:OPEN-SESAME@db'])(
    'a malformed database address is reported without its password: %s',
    async (database) => {
      const problems = (await problemsOf(`database: ${database}`)).join();
      expect(problems).toContain('must be a postgres:// URL');
      expect(problems).not.toMatch(/OPEN|SESAME/);
    },
  );

  it('trustedProxies without accounts is refused, with what to do', async () => {
    const yaml = 'server: { trustedProxies: [127.0.0.1] }';
    expect(await problemsOf(yaml)).toEqual([]);
    expect((await problemsOf(yaml, { flags: { 'no-auth': 'true' } })).join()).toMatch(
      /trustedProxies cannot be used without accounts .* Use accounts, or remove trustedProxies/,
    );
  });

  it('a secret is not shown, wherever it is', async () => {
    const { shown } = await load(SECRETS);
    expect(JSON.stringify(shown)).toContain('http://maps.test/wms?map=a&api_key=********');
    expect(JSON.stringify(shown)).not.toContain('OPEN-SESAME');
  });

  it.each([
    ['layers: a,', 'layers: a, version: 9,'],
    ['type: wms', 'type: wsm'],
    ['http://maps.test', 'gopher://maps.test'],
    ['{z}/{x}/{y}', '{z}/{x}'],
    ['postgres:', 'mysql:'],
  ])('a secret is not quoted when %s is %s', async (right, wrong) => {
    const problems = (await problemsOf(SECRETS.replace(right, wrong))).join();
    expect(problems).not.toBe('');
    expect(problems).not.toContain('OPEN-SESAME');
  });
});
