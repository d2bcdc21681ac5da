import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';
import {
  changedConfiguration,
  DEFAULT_QUOTA_CONFIGURATION,
  type QuotaChange,
  type QuotaConfiguration,
} from '../../quota/quota-configuration.ts';
import type { QuotaService } from '../../quota/quota-service.ts';

function openApp(first = DEFAULT_QUOTA_CONFIGURATION) {
  let configuration: QuotaConfiguration = first;
  const quota = {
    settings: {
      read: async () => configuration,
      change: async (change: QuotaChange) => {
        configuration = changedConfiguration(configuration, change);
        return configuration;
      },
      subscribe: () => () => {},
    },
  } as unknown as QuotaService;
  const catalog = catalogOf([layerNamed('world'), layerNamed('topp:states')]);
  const app = createTestApp({ deps: { catalog, quota } });
  const put = (format: 'xml' | 'json', body: string, headers: Record<string, string> = {}) =>
    app.request('PUT', `/diskquota.${format}`, { body, headers });
  return { ...app, put, now: () => configuration };
}

const XML =
  '<tileQuotaConfiguration><enabled>false</enabled><diskBlockSize>4096</diskBlockSize><cacheCleanUpFrequency>10</cacheCleanUpFrequency><cacheCleanUpUnits>SECONDS</cacheCleanUpUnits><maxConcurrentCleanUps>2</maxConcurrentCleanUps><globalExpirationPolicyName>LFU</globalExpirationPolicyName><globalQuota><value>500</value><units>MiB</units></globalQuota><layerQuotas/></tileQuotaConfiguration>';
const JSON_TEXT =
  '{"tileQuotaConfiguration":{"enabled":false,"diskBlockSize":4096,"cacheCleanUpFrequency":10,"cacheCleanUpUnits":"SECONDS","maxConcurrentCleanUps":2,"globalExpirationPolicyName":"LFU","globalQuota":{"value":"500","units":"MiB"},"layerQuotas":[]}}';

describe('GET /diskquota', () => {
  it.each([
    ['/diskquota.xml', 'application/xml', XML],
    ['/diskquota.json', 'application/json', JSON_TEXT],
    ['/rest/diskquota.xml', 'application/xml', XML],
    ['/rest/diskquota.json', 'application/json', JSON_TEXT],
    ['/rest/diskquota', 'application/xml', XML],
    ['/geowebcache/rest/diskquota.json', 'application/json', JSON_TEXT],
    ['/geoserver/gwc/diskquota.xml', 'application/xml', XML],
  ])('GET %s answers as %s with every field in its order', async (path, contentType, text) => {
    const answer = await openApp().request('GET', path);
    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers['content-type']).toBe(contentType);
  });

  it('GET /diskquota in an unknown format is refused with the existing formats', async () => {
    for (const path of ['/diskquota.yaml', '/rest/diskquota.html']) {
      const answer = await openApp().request('GET', path);
      expect([answer.status, answer.text]).toEqual([404, 'The disk quota comes as xml or json.\n']);
    }
  });

  it('/diskquota answers other methods with 405', async () => {
    for (const path of ['/diskquota.xml', '/diskquota.json', '/rest/diskquota']) {
      for (const method of ['POST', 'DELETE', 'PATCH', 'OPTIONS']) {
        const answer = await openApp().request(method, path);
        expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, PUT']);
      }
    }
  });
});

describe('PUT /diskquota', () => {
  it('PUT /diskquota changes the fields in the body and keeps the rest, and answers all of it', async () => {
    const app = openApp();
    const body =
      '<gwcQuotaConfiguration><enabled>true</enabled><globalQuota><value>100</value><units>GiB</units></globalQuota></gwcQuotaConfiguration>';
    const answer = await app.put('xml', body, { 'content-type': 'text/xml' });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(
      XML.replace('<enabled>false', '<enabled>true').replace(
        '<value>500</value><units>MiB',
        '<value>100</value><units>GiB',
      ),
    );
    const more = await app.put(
      'json',
      `{'tileQuotaConfiguration':{maxConcurrentCleanUps:"3",globalExpirationPolicyName:"LRU"}}`,
    );
    expect(JSON.parse(more.text).tileQuotaConfiguration).toMatchObject({
      enabled: true,
      maxConcurrentCleanUps: 3,
      globalExpirationPolicyName: 'LRU',
      globalQuota: { value: '100', units: 'GiB' },
    });
  });

  it('PUT /diskquota keeps the unit if only the value is there, and the value if only the unit is', async () => {
    const app = openApp();
    await app.put(
      'xml',
      '<tileQuotaConfiguration><globalQuota><value>20</value></globalQuota></tileQuotaConfiguration>',
    );
    expect(app.now().globalQuota).toEqual({ value: 20, units: 'MiB' });
    await app.put('json', '{"tileQuotaConfiguration":{"globalQuota":{"units":"GiB"}}}');
    expect(app.now().globalQuota).toEqual({ value: 20, units: 'GiB' });
  });

  it('PUT /diskquota keeps layer quotas when layerQuotas is null', async () => {
    const app = openApp();
    const layerQuotas = [{ layer: 'world', expirationPolicyName: 'LRU', quota: { value: 1, units: 'GiB' } }];
    await app.put('json', JSON.stringify({ tileQuotaConfiguration: { layerQuotas } }));
    await app.put('json', '{"tileQuotaConfiguration":{"note":"layerQuotas: []","layerQuotas":null}}');
    expect(app.now().layerQuotas).toEqual(layerQuotas);
    await app.put('json', '{"tileQuotaConfiguration":{"layerQuotas":{"LayerQuota":[]}}}');
    expect(app.now().layerQuotas).toEqual([]);
  });

  it('PUT /diskquota replaces the list of layer quotas, in each of its forms', async () => {
    const app = openApp();
    const entry = {
      layer: 'topp:states',
      expirationPolicyName: 'LRU',
      quota: { value: '1.5', units: 'MiB' },
    };
    for (const layerQuotas of [[entry], { LayerQuota: [entry] }, { LayerQuota: entry }]) {
      const body = JSON.stringify({ tileQuotaConfiguration: { layerQuotas } });
      const answer = await app.put('json', body);
      expect(JSON.parse(answer.text).tileQuotaConfiguration.layerQuotas).toEqual([entry]);
      const cleared = await app.put('json', '{"tileQuotaConfiguration":{"layerQuotas":[]}}');
      expect(JSON.parse(cleared.text).tileQuotaConfiguration.layerQuotas).toEqual([]);
    }
    const xml =
      '<layerQuotas><LayerQuota><layer>world</layer><expirationPolicyName>LFU</expirationPolicyName><quota><value>5</value><units>B</units></quota></LayerQuota></layerQuotas>';
    const answer = await app.put('xml', `<tileQuotaConfiguration>${xml}</tileQuotaConfiguration>`);
    expect(answer.text).toContain(xml);
    const cleared = await app.put('xml', '<tileQuotaConfiguration><layerQuotas/></tileQuotaConfiguration>');
    expect(cleared.text).toBe(XML);
  });

  it.each([
    ['"maxConcurrentCleanUps":-1', 'maxConcurrentCleanUps shall be a positive integer: -1\n'],
    ['"maxConcurrentCleanUps":"many"', 'maxConcurrentCleanUps shall be a positive integer: many\n'],
    ['"cacheCleanUpFrequency":0', 'cacheCleanUpFrequency shall be a positive integer: 0\n'],
  ])('PUT /diskquota with %s reports exactly what is wrong, and applies nothing', async (field, message) => {
    const app = openApp();
    const answer = await app.put('json', `{"tileQuotaConfiguration":{"enabled":true,${field}}}`);
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([
      400,
      'text/plain; charset=utf-8',
      message,
    ]);
    expect(app.now()).toEqual(DEFAULT_QUOTA_CONFIGURATION);
  });

  it.each([
    '"enabled":"maybe"',
    '"cacheCleanUpUnits":"FORTNIGHTS"',
    '"globalExpirationPolicyName":"FIFO"',
    '"globalQuota":{"value":"-1","units":"MiB"}',
    '"globalQuota":{"value":"NaN","units":"MiB"}',
    '"globalQuota":{"value":"1e300","units":"MiB"}',
    '"globalQuota":{"value":"5000","units":"TiB"}',
    '"globalQuota":{"value":"1e15"}',
    '"globalQuota":5',
    '"globalQuota":[{"value":1},{"value":2}]',
    '"layerQuotas":[{"layer":"nowhere","expirationPolicyName":"LRU","quota":{"value":1,"units":"B"}}]',
    '"layerQuotas":[{"layer":"world","quota":{"value":1,"units":"B"}}]',
    '"layerQuotas":[{"layer":"world","expirationPolicyName":"LRU","quota":{"value":1}}]',
    '"layerQuotas":[{"layer":"world","expirationPolicyName":"LRU","quota":{"value":9e9,"units":"TiB"}}]',
    '"layerQuotas":[{"layer":"world","expirationPolicyName":"LRU"}]',
    '"layerQuotas":[{}]',
    '"layerQuotas":"none"',
    '"layerQuotas":[1]',
    '"diskBlockSize":0',
    '"enabled":true,"enabled":true',
  ])('PUT /diskquota refuses %s and applies nothing', async (fields) => {
    const app = openApp();
    const answer = await app.put('json', `{"tileQuotaConfiguration":{"maxConcurrentCleanUps":5,${fields}}}`);
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'text/plain; charset=utf-8']);
    expect(app.now()).toEqual(DEFAULT_QUOTA_CONFIGURATION);
  });

  it('PUT /diskquota accepts what GET answered when the file has lost a layer with a quota', async () => {
    const layerQuotas = [
      { layer: 'gone', expirationPolicyName: 'LRU' as const, quota: { value: 1, units: 'GiB' as const } },
    ];
    const app = openApp({ ...DEFAULT_QUOTA_CONFIGURATION, layerQuotas });
    const { text } = await app.request('GET', '/diskquota.json');
    expect((await app.put('json', text)).status).toBe(200);
    expect(app.now().layerQuotas).toEqual(layerQuotas);
  });

  it('PUT /diskquota explains an unknown unit in several lines', async () => {
    const app = openApp();
    const xml = `<tileQuotaConfiguration>
  <enabled>true</enabled>
  <globalQuota><value>5</value><units>ZZiB</units></globalQuota>
</tileQuotaConfiguration>`;
    const inXml = await app.put('xml', xml);
    const inJson = await app.put(
      'json',
      '{"tileQuotaConfiguration":{"globalQuota":{"value":5,"units":"ZZiB"}}}',
    );
    const lines = (line: number) =>
      `Unknown unit ZZiB: globalQuota.units must be one of B, KiB, MiB, GiB, TiB
---- Debugging information ----
message             : Unknown unit ZZiB: globalQuota.units must be one of B, KiB, MiB, GiB, TiB
cause-exception     : IllegalArgumentException
cause-message       : No storage unit is called ZZiB
class               : tileQuotaConfiguration
required-type       : StorageUnit
line number         : ${line}
`;
    expect([inXml.status, inXml.text]).toEqual([400, lines(3)]);
    expect([inJson.status, inJson.text]).toEqual([400, lines(-1)]);
    expect(inXml.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(app.now()).toEqual(DEFAULT_QUOTA_CONFIGURATION);
  });

  it('PUT /diskquota ignores unknown keys', async () => {
    const app = openApp();
    const body =
      '{"tileQuotaConfiguration":{"quotaStore":"JDBC","__proto__":{"enabled":true},"constructor":{"a":1}}}';
    expect((await app.put('json', body)).status).toBe(200);
    expect(app.now()).toEqual(DEFAULT_QUOTA_CONFIGURATION);
    expect(Object.keys(app.now())).toEqual(Object.keys(DEFAULT_QUOTA_CONFIGURATION));
  });

  it.each([
    ['json', 'text/xml', 415],
    ['xml', 'application/json', 415],
    ['xml', 'text/plain', 415],
    ['json', 'text/json; charset=utf-8', 200],
    ['json', 'application/x-www-form-urlencoded', 200],
  ] as const)(
    'PUT /diskquota.%s with a body that comes as %s is a %i',
    async (format, contentType, status) => {
      const body = format === 'xml' ? '<tileQuotaConfiguration/>' : '{"tileQuotaConfiguration":{}}';
      expect((await openApp().put(format, body, { 'content-type': contentType })).status).toBe(status);
    },
  );

  it.each([
    ['xml', '<other/>'],
    ['xml', '<tileQuotaConfiguration>'],
    ['xml', '<tileQuotaConfiguration>enabled</tileQuotaConfiguration>'],
    ['json', '{"enabled":true}'],
    ['json', '{"tileQuotaConfiguration":true}'],
    ['json', '{"tileQuotaConfiguration":{},"tileQuotaConfiguration":{"enabled":true}}'],
    ['json', ''],
  ] as const)('PUT /diskquota refuses %s that is not a quota configuration: %s', async (format, body) => {
    expect((await openApp().put(format, body)).status).toBe(400);
  });
});

it('/api/v1/quota reads and writes the disk quota too', async () => {
  const app = openApp();
  const headers = { 'content-type': 'application/json' };
  const body = '{"enabled":true,"globalQuota":{"value":2,"units":"GiB"},"cacheCleanUpUnits":"MINUTES"}';
  const answer = await app.request('PUT', '/api/v1/quota', { headers, body });
  expect(answer.status).toBe(200);
  const shown = JSON.parse((await app.request('GET', '/api/v1/quota')).text);
  expect(shown).toEqual(JSON.parse(answer.text));
  expect(shown).toMatchObject({
    enabled: true,
    cleanUpSeconds: 600,
    globalQuota: { value: 2, units: 'GiB', bytes: 2 ** 31 },
    layerQuotas: [],
  });
});

it('/api/v1/quota accepts its own answer as a body, and refuses an unknown field', async () => {
  const app = openApp();
  const headers = { 'content-type': 'application/json' };
  const layerQuotas = [{ layer: 'world', expirationPolicyName: 'LRU', quota: { value: 1, units: 'GiB' } }];
  await app.request('PUT', '/api/v1/quota', { headers, body: JSON.stringify({ layerQuotas }) });
  const shown = (await app.request('GET', '/api/v1/quota')).text;
  expect((await app.request('PUT', '/api/v1/quota', { headers, body: shown })).text).toBe(shown);
  for (const [body, message] of [
    ['{"enabld":true}', /enabld is not a field; did you mean enabled\?/],
    ['{"globalQuota":{"valu":5}}', /globalQuota\.valu is not a field; did you mean value\?/],
    ['{"layerQuotas":[{"layers":"world"}]}', /layerQuotas\[0\]\.layers is not a field; did you mean layer\?/],
  ] as const) {
    const misspelt = await app.request('PUT', '/api/v1/quota', { headers, body });
    expect([misspelt.status, misspelt.text]).toEqual([400, expect.stringMatching(message)]);
  }
});
