import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { importGeoWebCache } from './import-geowebcache.ts';
import { importQuota, importUsers } from './import-quota-and-users.ts';
import { ImportReport } from './import-report.ts';

const gridSets = builtInGridSets();

function read(inner: string, hasTiles: (folder: string, layer: string) => boolean = () => false) {
  const xml = readXml(
    `<gwcConfiguration xmlns="http://geowebcache.org/schema/1.14.0">${inner}</gwcConfiguration>`,
  );
  const imported = importGeoWebCache(xml, { folder: '/gwc', gridSets, hasTiles });
  const told = imported.report.entries.map(
    ({ fate, subject, element }) => `${fate}: ${element} of ${subject}`,
  );
  return { ...imported, told };
}

const layer = (name: string, more = '') =>
  `<wmsLayer><name>${name}</name>${more}<wmsUrl><string>http://maps.example.org/wms</string></wmsUrl></wmsLayer>`;
const numbers = (values: readonly number[]) => values.map((value) => `<double>${value}</double>`).join('');
const gridSet = (
  name: string,
  resolutions: readonly number[],
) => `<gridSet><name>${name}</name><srs><number>4326</number></srs>
  <extent><coords>${numbers([-180, -90, 180, 90])}</coords></extent><resolutions>${numbers(resolutions)}</resolutions></gridSet>`;

describe('geowebcache.xml', () => {
  it('comes to layers, with what the document says for all of them', () => {
    const { layers } = read(
      `<backendTimeout>30</backendTimeout><cacheBypassAllowed>true</cacheBypassAllowed><fullWMS>true</fullWMS>
       <layers>${layer('a')}${layer('b', '<backendTimeout>5</backendTimeout>')}</layers>`,
    );
    expect(layers).toMatchObject([
      { name: 'a', cacheBypass: true, fullWMS: true, source: { timeoutSeconds: 30 } },
      { name: 'b', source: { timeoutSeconds: 5 } },
    ]);
    expect(checkImported({ layers, gridSets: [] }).refused).toEqual([]);
  });

  it('adopts the tiles of layers that have some, in the folder of their blob store', () => {
    const stores = `<blobStores><FileBlobStore default="false"><id>fast</id><enabled>true</enabled>
      <baseDirectory>/ssd</baseDirectory><pathGeneratorType>SLIPPY</pathGeneratorType></FileBlobStore>
      <S3BlobStore><id>cloud</id></S3BlobStore></blobStores>`;
    const layers = ['a', 'b', 'c', 'd'].map((name, at) =>
      layer(name, ['', '<blobStoreId>fast</blobStoreId>', '<blobStoreId>cloud</blobStoreId>', ''][at]),
    );
    const { layers: imported, told } = read(
      `${stores}<layers>${layers.join('')}</layers>`,
      (_, name) => name !== 'd',
    );
    expect(imported.map(({ adopt }) => adopt)).toEqual([
      { layout: 'geowebcache', folder: '/gwc' },
      { layout: 'geowebcache', folder: '/ssd', paths: 'slippy' },
      undefined,
      undefined,
    ]);
    expect(imported.every((document) => !('store' in document))).toBe(true);
    expect(told).toContain('left out: S3BlobStore of blob store cloud');
    expect(told).toContain('changed: cache of layer a');
  });

  it('keeps its own grid sets apart from those of the program', () => {
    const own = [
      gridSet('EPSG:4326', [0.703125, 0.3515625]),
      gridSet('GlobalCRS84Scale', [1, 0.5]),
      gridSet('mine', [1]),
    ];
    const subsets = ['GlobalCRS84Scale', 'mine'].map(
      (name) => `<gridSubset><gridSetName>${name}</gridSetName></gridSubset>`,
    );
    const { gridSets: declared, layers } = read(
      `<gridSets>${own.join('')}</gridSets><layers>${layer('a', `<gridSubsets>${subsets.join('')}</gridSubsets>`)}</layers>`,
      () => true,
    );
    expect(declared.map(({ name }) => name)).toEqual(['GlobalCRS84Scale imported', 'mine']);
    expect(layers).toMatchObject([
      {
        gridSets: [{ name: 'GlobalCRS84Scale imported' }, { name: 'mine' }],
        adopt: { gridSets: { 'GlobalCRS84Scale imported': 'GlobalCRS84Scale' } },
      },
    ]);
    expect(checkImported({ layers, gridSets: declared }).refused).toEqual([]);
  });

  it('leaves out what it cannot read, and says so element by element', () => {
    const { layers, told } = read(
      `<serviceInformation/><strange/><layers>${layer('a', '<useETags>true</useETags><gutter>x</gutter>')}
       ${layer('b', '<wmsVersion>1.1.0</wmsVersion><palette>p</palette>')}${layer('b')}<arcgisLayer><name>c</name></arcgisLayer></layers>`,
    );
    expect(layers.map(({ name }) => name)).toEqual(['b']);
    expect(told).toEqual(
      expect.arrayContaining([
        'left out: serviceInformation of gwcConfiguration',
        'left out: strange of gwcConfiguration',
        'left out: all of it of layer a',
        'changed: wmsVersion of layer b',
        'left out: palette of layer b',
        'taken: wmsUrl of layer b',
        'left out: all of it of layer b',
        'left out: all of it of layer c',
      ]),
    );
  });

  it('is not another document', () => {
    expect(() =>
      importGeoWebCache(readXml('<layers/>'), { folder: '/', gridSets, hasTiles: () => false }),
    ).toThrow('The root must be gwcConfiguration, not layers.');
  });
});

describe('what lies beside it', () => {
  it('gives the disk quota as a body of the interface', () => {
    const report = new ImportReport();
    const xml = `<gwcQuotaConfiguration><enabled>true</enabled><cacheCleanUpFrequency>10</cacheCleanUpFrequency>
      <cacheCleanUpUnits>SECONDS</cacheCleanUpUnits><maxConcurrentCleanUps>2</maxConcurrentCleanUps>
      <globalExpirationPolicyName>LFU</globalExpirationPolicyName><globalQuota><value>5</value><units>GiB</units></globalQuota>
      <layerQuotas><LayerQuota><layer>a</layer><expirationPolicyName>LRU</expirationPolicyName>
      <quota><value>1.5</value><units>MiB</units></quota></LayerQuota></layerQuotas><quotaStore>H2</quotaStore></gwcQuotaConfiguration>`;
    expect(importQuota(readXml(xml), report)).toEqual({
      enabled: true,
      cacheCleanUpFrequency: 10,
      cacheCleanUpUnits: 'SECONDS',
      maxConcurrentCleanUps: 2,
      globalExpirationPolicyName: 'LFU',
      globalQuota: { value: 5, units: 'GiB' },
      layerQuotas: [{ layer: 'a', expirationPolicyName: 'LRU', quota: { value: 1.5, units: 'MiB' } }],
    });
    expect(report.entries).toContainEqual(
      expect.objectContaining({ element: 'quotaStore', fate: 'left out' }),
    );
  });

  it('gives users without their passwords', () => {
    const report = new ImportReport();
    const text =
      '# users\ngeowebcache=secured,ROLE_ADMINISTRATOR\nanna = pw , ROLE_USER,enabled\nold=x,ROLE_USER,disabled\n';
    expect(importUsers(text, report)).toEqual([
      { name: 'geowebcache', role: 'admin' },
      { name: 'anna', role: 'viewer' },
    ]);
    expect(JSON.stringify(report.entries)).not.toContain('secured');
  });
});
