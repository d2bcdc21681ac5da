import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { importGeoWebCache } from './import-geowebcache.ts';

const gridSets = builtInGridSets();

function read(inner: string, hasTiles: (folder: string, layer: string) => boolean = () => false) {
  const xml = readXml(
    `<gwcConfiguration xmlns="http://geowebcache.org/schema/1.14.0">${inner}</gwcConfiguration>`,
  );
  const imported = importGeoWebCache(xml, {
    folder: '/gwc',
    gridSets,
    hasTiles,
    isThere: (folder) => folder !== '/gone',
    findArchive: (path) => (path === 'gone.mbtiles' ? null : { path: `/gwc/${path}`, format: 'image/png' }),
    readTable: () => null,
  });
  const reported = imported.report.entries.map(
    ({ fate, subject, element }) => `${fate}: ${element} of ${subject}`,
  );
  return { ...imported, reported, entries: imported.report.entries };
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
  it('geowebcache.xml becomes layers, with its settings for all of them', () => {
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

  it('an mbtilesLayer of geowebcache.xml has its file as source', () => {
    const { layers, reported } = read(`<layers>
      <mbtilesLayer><tilesPath>lakes.mbtiles</tilesPath></mbtilesLayer>
      <mbtilesLayer><tilesPath>a.mbtiles</tilesPath><tileSize>256</tileSize><name>named</name>
        <metaInformation><title>T</title></metaInformation><expireCache>5</expireCache></mbtilesLayer>
      <mbtilesLayer><tilesPath>gone.mbtiles</tilesPath><name>gone</name></mbtilesLayer>
      <mbtilesLayer><tilesPath>a.mbtiles</tilesPath><tileSize>512</tileSize><name>large</name></mbtilesLayer>
      <mbtilesLayer><tilesPath>a.mbtiles</tilesPath><tileSize>big</tileSize><name>wrong</name></mbtilesLayer>
    </layers>`);
    const archive = (path: string) => ({
      source: { type: 'archive', path },
      formats: ['image/png'],
      gridSets: ['EPSG:900913'],
    });
    expect(layers).toEqual([
      { name: 'lakes', ...archive('/gwc/lakes.mbtiles') },
      { name: 'named', title: 'T', ...archive('/gwc/a.mbtiles') },
    ]);
    expect(checkImported({ layers, gridSets: [] }).refused).toEqual([]);
    for (const line of [
      'left out: expireCache of layer named',
      'left out: all of it of layer gone',
      'left out: all of it of layer large',
      'left out: all of it of layer wrong',
    ]) {
      expect(reported).toContain(line);
    }
  });

  it('geowebcache.xml has the feeds of updateSources, in our names of their grid sets', () => {
    const feed = (inner: string) =>
      `<updateSources><geoRssFeed><feedUrl>http://maps.example.org/rss</feedUrl>${inner}</geoRssFeed></updateSources>`;
    const { layers, entries } = read(
      `<layers>${layer('a', feed('<pollInterval>60</pollInterval><gridSetId>EPSG:900913</gridSetId><operation>reseed</operation>'))}
        ${layer('b', feed('<pollInterval>60</pollInterval><gridSetId>LOST</gridSetId>'))}${layer('c', feed(''))}</layers>`,
    );
    const url = 'http://maps.example.org/rss';
    expect(layers.map(({ updateSources }) => updateSources ?? [])).toEqual([
      [{ url, gridSet: 'EPSG:900913', intervalSeconds: 60, action: 'renew' }],
      [],
      [],
    ]);
    const left = entries.filter(({ fate }) => fate === 'left out');
    expect(left.map(({ subject, element, what }) => [subject, element, what])).toEqual([
      ['layer b', 'updateSources.geoRssFeed', 'the layer has no known grid set LOST'],
      ['layer c', 'updateSources.geoRssFeed', expect.stringContaining('pollInterval')],
    ]);
  });

  it('the report of geowebcache.xml names an element with rules once, as taken', () => {
    const rules =
      '<expireClientsList><expirationRule minZoom="0" expiration="500"/></expireClientsList><legends defaultWidth="20"><legend style="day"/></legends>';
    const { layers, entries } = read(`<layers>${layer('a', rules)}</layers>`);
    expect(layers).toMatchObject([{ expireClients: [{ minZoom: 0, seconds: 500 }] }]);
    const fates = entries.filter(({ element }) => element.startsWith('expireClientsList'));
    expect(fates.map(({ element, fate }) => [element, fate])).toEqual([['expireClientsList', 'taken']]);
  });

  it('the report of geowebcache.xml does not promise tiles of a folder that is not there', () => {
    const store = (id: string, folder: string) =>
      `<FileBlobStore><id>${id}</id><enabled>true</enabled><baseDirectory>${folder}</baseDirectory></FileBlobStore>`;
    const { entries } = read(`<blobStores>${store('a', '/tiles')}${store('b', '/gone')}</blobStores>`);
    const texts = entries.filter(({ element }) => element === 'FileBlobStore').map(({ what }) => what);
    expect(texts).toEqual([
      'layers adopt what is in /tiles, and keep their tiles in the store default',
      'there is no folder /gone here, so layers adopt nothing from it, and keep their tiles in the store default',
    ]);
  });

  it('geowebcache.xml has the tiles of its layers adopted, in the folder of their blob store', () => {
    const stores = `<blobStores><FileBlobStore default="false"><id>fast</id><enabled>true</enabled>
      <baseDirectory>/ssd</baseDirectory><pathGeneratorType>SLIPPY</pathGeneratorType></FileBlobStore>
      <S3BlobStore><id>cloud</id></S3BlobStore></blobStores>`;
    const layers = ['a', 'b', 'c', 'd'].map((name, at) =>
      layer(name, ['', '<blobStoreId>fast</blobStoreId>', '<blobStoreId>cloud</blobStoreId>', ''][at]),
    );
    const { layers: imported, reported } = read(
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
    expect(reported).toContain('left out: S3BlobStore of blob store cloud');
    expect(reported).toContain('changed: cache of layer a');
  });

  it('geowebcache.xml has the tiles of its layers adopted, in the bucket or MBTiles of their blob store', () => {
    const stores = `<blobStores>
      <S3BlobStore><id>a cloud</id><bucket>tiles</bucket><prefix>gwc</prefix><endpoint>s3.example.org</endpoint>
        <awsAccessKey>id</awsAccessKey><awsSecretKey>\${SECRET}</awsSecretKey></S3BlobStore>
      <AzureBlobStore><id>blue</id><container>maps</container><accountName>me</accountName><accountKey>a2V5</accountKey></AzureBlobStore>
      <GoogleCloudStorageBlobStore><id>g</id><bucket>maps</bucket><prefix>old</prefix></GoogleCloudStorageBlobStore>
      <MbtilesBlobStore><id>files</id><rootDirectory>/mbtiles</rootDirectory><rowRangeCount>100</rowRangeCount></MbtilesBlobStore></blobStores>`;
    const layers = ['a cloud', 'blue', 'g', 'files'].map((id, at) =>
      layer(`l${at}`, `<blobStoreId>${id}</blobStoreId>`),
    );
    const {
      adoptBuckets,
      layers: imported,
      reported,
    } = read(`${stores}<layers>${layers.join('')}</layers>`, () => true);
    expect(imported.map(({ adopt }) => adopt)).toEqual([
      { layout: 'geowebcache', bucket: 'a_cloud', folder: 'gwc' },
      { layout: 'geowebcache', bucket: 'blue', folder: '/' },
      { layout: 'geowebcache', bucket: 'g', folder: 'old' },
      { layout: 'geowebcache-mbtiles', folder: '/mbtiles', rows: 100 },
    ]);
    expect(adoptBuckets).toEqual({
      a_cloud: {
        type: 's3',
        bucket: 'tiles',
        endpoint: 'https://s3.example.org',
        pathStyle: true,
        accessKeyId: 'id',
        secretAccessKey: { env: 'SECRET' },
      },
      blue: { type: 'azure', container: 'maps', account: 'me', key: 'a2V5' },
      g: {
        type: 's3',
        bucket: 'maps',
        endpoint: 'https://storage.googleapis.com',
        region: 'auto',
        accessKeyId: { env: 'GOOGLE_HMAC_ID' },
        secretAccessKey: { env: 'GOOGLE_HMAC_SECRET' },
      },
    });
    expect(reported).toContain('changed: S3BlobStore of blob store a cloud');
  });

  it('geowebcache.xml has grid sets of its own beside the built-in ones', () => {
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

  it('geowebcache.xml has unreadable elements left out, and the report names each', () => {
    const { layers, reported } = read(
      `<serviceInformation/><strange/><layers>${layer('a', '<useETags>true</useETags><gutter>x</gutter>')}
       ${layer('b', '<wmsVersion>1.1.0</wmsVersion><palette>p</palette>')}${layer('b')}<arcgisLayer><name>c</name></arcgisLayer></layers>`,
    );
    expect(layers.map(({ name }) => name)).toEqual(['b']);
    expect(reported).toEqual(
      expect.arrayContaining([
        'taken: serviceInformation of gwcConfiguration',
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

  it('geowebcache.xml is not another document', () => {
    expect(() =>
      importGeoWebCache(readXml('<layers/>'), {
        folder: '/',
        gridSets,
        hasTiles: () => false,
        isThere: () => true,
        findArchive: () => null,
        readTable: () => null,
      }),
    ).toThrow('The root must be gwcConfiguration, not layers.');
  });
});

const subsets = (...names: readonly string[]) =>
  `<gridSubsets>${names.map((name) => `<gridSubset><gridSetName>${name}</gridSetName></gridSubset>`).join('')}</gridSubsets>`;

describe('a grid set of geowebcache.xml that is called like one of ours', () => {
  const halved = (count: number) => Array.from({ length: count }, (_, z) => 0.703125 / 2 ** z);
  const declared = (more: string, resolutions = halved(22), srs = 4326) =>
    `<gridSets><gridSet><name>EPSG:4326</name><srs><number>${srs}</number></srs><extent><coords>${numbers([-180, -90, 180, 90])}</coords></extent>
     <resolutions>${numbers(resolutions)}</resolutions>${more}</gridSet></gridSets><layers>${layer('a', subsets('EPSG:4326'))}</layers>`;
  const names = (prefix: string) =>
    `<scaleNames>${halved(3).map((_, z) => `<string>${prefix}${z}</string>`)}</scaleNames>`;

  it('a grid set of geowebcache.xml with a built-in name is the built-in one when it has the same tiles', () => {
    const { gridSets: own, layers } = read(declared('<alignTopLeft>true</alignTopLeft>'));
    expect(own).toEqual([]);
    expect(layers).toMatchObject([{ gridSets: [{ name: 'EPSG:4326' }] }]);
  });

  it('a grid set of geowebcache.xml is the built-in one up to its last level when it has fewer', () => {
    const { gridSets: own, layers } = read(declared(names('EPSG:4326:'), halved(3)));
    expect(own).toEqual([]);
    const alias = declared(names('EPSG:4326:'), halved(3)).replaceAll('EPSG:4326', 'GlobalCRS84Geometric');
    expect(read(alias).gridSets).toEqual([]);
    expect(layers).toMatchObject([{ gridSets: [{ name: 'EPSG:4326', zoomStop: 2 }] }]);
  });

  it.each([
    ['tiles of another size', declared('<tileHeight>512</tileHeight><tileWidth>512</tileWidth>')],
    ['another CRS', declared('', halved(22), 4258)],
    ['more levels', declared('', halved(25))],
    ['levels of other names', declared(names('L'), halved(3))],
    [
      'other rows, because its tiles begin at the top',
      declared('<alignTopLeft>true</alignTopLeft>', [0.5, 0.25]),
    ],
  ])('a grid set of geowebcache.xml is a new one when it has %s', (_, inner) => {
    const { gridSets: own, layers } = read(inner, () => true);
    expect(own.map(({ name }) => name)).toEqual(['EPSG:4326 imported']);
    expect(layers).toMatchObject([
      {
        gridSets: [{ name: 'EPSG:4326 imported' }],
        adopt: { gridSets: { 'EPSG:4326 imported': 'EPSG:4326' } },
      },
    ]);
  });
});

describe('a layer of geowebcache.xml', () => {
  it.each([
    ['EPSG:3857', 'EPSG:900913'],
    ['GoogleMapsCompatible', 'EPSG:900913'],
    ['GlobalCRS84Geometric', 'EPSG:4326'],
  ])('a layer of geowebcache.xml in the grid set %s finds its tiles in folders of it', (there, here) => {
    const { layers } = read(`<layers>${layer('a', subsets(there))}</layers>`, () => true);
    expect(layers).toMatchObject([{ gridSets: [{ name: here }], adopt: { gridSets: { [here]: there } } }]);
    expect(checkImported({ layers, gridSets: [] }).refused).toEqual([]);
  });

  it('a layer of geowebcache.xml keeps its known grid sets, and the report names the others', () => {
    const { layers, entries } = read(`<layers>${layer('a', subsets('EPSG:900913', 'EPSG:4711'))}</layers>`);
    expect(layers).toMatchObject([{ gridSets: [{ name: 'EPSG:900913' }] }]);
    expect(entries).toContainEqual(
      expect.objectContaining({
        fate: 'left out',
        subject: 'layer a',
        what: expect.stringContaining('EPSG:4711'),
      }),
    );
    expect(read(`<layers>${layer('a', subsets('EPSG:4711'))}</layers>`).layers).toEqual([]);
  });

  it('a layer of geowebcache.xml keeps references to the environment', () => {
    const variable = (name: string) => ['$', '{', name, '}'].join('');
    const login = `<httpUsername>${variable('MAPS_USER')}</httpUsername><httpPassword>${variable('MAPS_PASSWORD')}</httpPassword>`;
    const { layers } = read(`<layers>${layer('a', login)}</layers>`);
    expect(layers).toMatchObject([
      { source: { username: { env: 'MAPS_USER' }, password: { env: 'MAPS_PASSWORD' } } },
    ]);
    expect(checkImported({ layers, gridSets: [] }).refused).toEqual([]);
    const part = read(
      `<layers>${layer('a', `<httpUsername>x${variable('MAPS_USER')}</httpUsername>`)}</layers>`,
    );
    expect(part.entries).toContainEqual(
      expect.objectContaining({
        element: 'httpUsername',
        fate: 'changed',
        what: expect.stringContaining('env'),
      }),
    );
  });

  it('a layer of geowebcache.xml has the login of the document, unless it has its own', () => {
    const { layers, reported } = read(
      `<httpUsername>all</httpUsername><httpPassword>pw</httpPassword>
       <layers>${layer('a')}${layer('b', '<httpUsername>own</httpUsername><httpPassword>x</httpPassword>')}</layers>`,
    );
    expect(layers).toMatchObject([
      { source: { username: 'all', password: 'pw' } },
      { source: { username: 'own', password: 'x' } },
    ]);
    expect(reported).toContain('taken: httpUsername of gwcConfiguration');
  });

  it('a layer of geowebcache.xml offers its fixed style by name when a legend explains it', () => {
    const legends = '<legends><legend style="polygon"><width>20</width></legend></legends>';
    const { layers } = read(`<layers>${layer('a', `<wmsStyles>polygon</wmsStyles>${legends}`)}</layers>`);
    expect(layers).toMatchObject([
      {
        legends: [{ style: 'polygon' }],
        parameters: [{ name: 'STYLES', default: 'polygon', values: ['polygon'] }],
      },
    ]);
  });

  it('a layer of geowebcache.xml is requested in the format of its formatModifiers', () => {
    const modifiers = (request: string, more = '') =>
      `<mimeFormats><string>image/jpeg</string><string>image/png</string></mimeFormats><formatModifiers><formatModifier>
       <responseFormat>image/jpeg</responseFormat><requestFormat>${request}</requestFormat>${more}</formatModifier></formatModifiers>`;
    const taken = read(
      `<layers>${layer('a', modifiers('image/png', '<bgColor>0x00FF00</bgColor>'))}</layers>`,
    );
    expect(taken.layers).toMatchObject([{ source: { requestFormat: 'image/png', bgColor: '0x00FF00' } }]);
    const { layers, entries } = read(
      `<layers>${layer('a', modifiers('image/tiff', '<compressionQuality>0.7</compressionQuality>'))}</layers>`,
    );
    expect(layers).not.toMatchObject([{ source: { requestFormat: expect.anything() } }]);
    const modifier = entries.filter(({ element }) => element.startsWith('formatModifiers'));
    expect(modifier.map(({ fate }) => fate)).toEqual(['left out', 'left out']);
    expect(JSON.stringify(modifier)).toContain('compressionQuality');
  });

  it('a layer of geowebcache.xml adopts nothing from a blob store that is disabled', () => {
    const store = `<blobStores><FileBlobStore default="false"><id>off</id><enabled>false</enabled><baseDirectory>/off</baseDirectory></FileBlobStore></blobStores>`;
    const { layers, reported } = read(
      `${store}<layers>${layer('a', '<blobStoreId>off</blobStoreId>')}</layers>`,
      () => true,
    );
    expect(layers[0]?.adopt).toBeUndefined();
    expect(reported).toContain('left out: FileBlobStore of blob store off');
  });
});

describe('the report about geowebcache.xml', () => {
  it('the report about geowebcache.xml names every element, taken, changed or left out, at any depth', () => {
    const { reported } = read(
      `<layers>${layer(
        'a',
        `<metaInformation><title>t</title><x_meta/></metaInformation><x_layer/>
         <parameterFilters><stringParameterFilter><key>A</key><values><string>b</string></values><x_filter/></stringParameterFilter></parameterFilters>
         <legends><legend style="s"><x_legend/></legend></legends><mimeFormats><string>image/png</string><x_format>image/gif</x_format></mimeFormats>
         <gridSubsets><gridSubset><gridSetName>EPSG:4326</gridSetName><x_subset/></gridSubset></gridSubsets>`,
      )}</layers><blobStores><FileBlobStore><id>f</id><enabled>true</enabled><baseDirectory>/f</baseDirectory><x_store/></FileBlobStore></blobStores>`,
    );
    for (const name of ['x_format', 'x_meta', 'x_layer', 'x_filter', 'x_legend', 'x_subset', 'x_store']) {
      expect(
        reported.filter((line) => line.startsWith('left out: ') && line.includes(name)),
        name,
      ).toHaveLength(1);
    }
  });
});
