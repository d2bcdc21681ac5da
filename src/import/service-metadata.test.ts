import { expect, it } from 'vitest';
import { settingsSchema } from '../config/settings-schema.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { parseYamlFile } from '../lib/yaml-file.ts';
import { importGeoWebCache } from './import-geowebcache.ts';
import { importMapProxy } from './import-mapproxy.ts';

const LIMITS = { bytes: 2 ** 20, depth: 32, elements: 1000, attributes: 64 };

it('metadata of MapProxy’s services and layers are those of the file', () => {
  const { value: tree } = parseYamlFile(
    'mapproxy.yaml',
    `
services:
  wms:
    md:
      title: Maps
      abstract: All of them
      online_resource: http://maps.test/
      contact: { person: Ann, organization: Acme, city: Oslo, email: ann@maps.test, postcode: 0123 }
      access_constraints: none
      keyword_list: [{ vocabulary: GEMET, keywords: [Orthoimagery] }, { keywords: [tiles] }]
layers:
  - name: a
    title: A
    sources: [s]
    md:
      keyword_list: [{ keywords: [roads] }]
      metadata: [{ url: 'http://maps.test/a.xml', type: 'ISO19115:2003', format: application/xml }]
      identifier: [{ url: 'http://maps.test/', name: ACME, value: a1 }]
sources: { s: { type: wms, req: { url: 'http://maps.test/wms', layers: a } } }`,
  );
  const files = { folder: '/', resolve: (_: string, file: string) => file };
  const { service, layers } = importMapProxy(tree, { ...files, isThere: () => false, readText: () => null });
  expect(settingsSchema.parse({ service, layers })).toMatchObject({
    service: {
      title: 'Maps',
      abstract: 'All of them',
      keywords: ['Orthoimagery', 'tiles'],
      constraints: 'none',
      provider: 'Acme',
      site: 'http://maps.test/',
      contact: {
        individualName: 'Ann',
        addressCity: 'Oslo',
        addressEmail: 'ann@maps.test',
        addressPostalCode: '0123',
      },
    },
    layers: [
      {
        keywords: ['roads'],
        metadata: [{ url: 'http://maps.test/a.xml', type: 'ISO19115:2003', format: 'application/xml' }],
        identifier: { authority: 'ACME', url: 'http://maps.test/', value: 'a1' },
      },
    ],
  });
});

it('every field of MapProxy’s services is reported once, also those of services that are unknown', () => {
  const { value } = parseYamlFile(
    'mapproxy.yaml',
    `
services:
  demo:
  tms: { use_grid_names: true, origin: nw }
  wmts: { kvp: true, restful_template: '/{Layer}/{TileMatrix}/{TileCol}/{TileRow}.{Format}', md: { title: Tiles } }
  wms:
    srs: ['EPSG:4326', 'EPSG:1']
    md: { title: Maps, keyword_list: [{ keywords: [a] }] }
    versions: ['1.1.1']
    later: { field: 1 }
  acme: { field: 1 }
layers: [{ name: a, title: A, sources: [s] }]
sources: { s: { type: wms, req: { url: 'http://maps.test/wms', layers: a } } }`,
  );
  const files = { folder: '/', resolve: (_: string, file: string) => file };
  const { report } = importMapProxy(value, { ...files, isThere: () => false, readText: () => null });
  const reported = report.entries
    .filter(({ subject, element }) => subject === 'mapproxy.yaml' && element.startsWith('services'))
    .map(({ fate, element, what }) => `${fate}: ${element}${what && `: ${what}`}`);
  expect(reported.sort()).toEqual([
    'changed: services.wms.srs: without EPSG:1: not known here',
    'changed: services: every service is offered for every layer',
    'left out: services.acme.field: has no counterpart',
    'left out: services.tms.origin: set server.compatibility: [mapproxy]; an address without a known grid counts rows from the top',
    'left out: services.tms.use_grid_names: grids are known by name and by SRS: set server.compatibility: [mapproxy]',
    'left out: services.wms.later: has no counterpart',
    'left out: services.wms.versions: every version is offered',
    'left out: services.wmts.kvp: both ways are answered',
    'left out: services.wmts.md: the metadata of another service are used for all',
    'left out: services.wmts.restful_template: other addresses than the usual ones are not answered: change those of the clients',
    'taken: services.wms.md.keyword_list.keywords',
    'taken: services.wms.md.title',
  ]);
});

it('a MapProxy with INSPIRE metadata is an INSPIRE view service, linked or embedded', () => {
  const read = (inspire: string) => {
    const { value } = parseYamlFile(
      'mapproxy.yaml',
      `
services: { wms: { inspire_md: { ${inspire} } } }
layers: [{ name: a, title: A, sources: [s] }]
sources: { s: { type: wms, req: { url: 'http://maps.test/wms', layers: a } } }`,
    );
    const files = { folder: '/', resolve: (_: string, file: string) => file };
    const imported = importMapProxy(value, { ...files, isThere: () => false, readText: () => null });
    return settingsSchema.parse({ service: imported.service }).service.inspire;
  };
  const link = '{ url: http://maps.test/csw, media_type: application/xml }';
  const metadataUrl = { url: 'http://maps.test/csw', type: 'application/xml' };
  expect(read(`type: linked, languages: { default: ger }, metadata_url: ${link}`)).toEqual({
    metadataUrl,
    language: 'ger',
    languages: [{ code: 'ger' }],
    metadata: null,
  });
  const embedded = `type: embedded, languages: { default: ger }, resource_locators: [${link}],
    temporal_reference: { date_of_creation: 2015-05-01 }, metadata_date: 2015-07-23,
    metadata_points_of_contact: [{ organisation_name: Acme, email: a@maps.test }],
    conformities: [{ title: R, date_of_publication: 2010-12-08, uris: [OJ], resource_locators: [${link}], degree: notEvaluated }],
    keywords: [{ title: GEMET, date_of_last_revision: 2008-06-01, keyword_value: Orthoimagery }]`;
  expect(read(embedded)).toMatchObject({
    metadataUrl: null,
    metadata: {
      resources: [metadataUrl],
      dates: { created: '2015-05-01' },
      metadataDate: '2015-07-23',
      contacts: [{ organisation: 'Acme', email: 'a@maps.test' }],
      conformities: [
        { title: 'R', published: '2010-12-08', uris: ['OJ'], links: [metadataUrl], degree: 'notEvaluated' },
      ],
      mandatoryKeywords: ['infoMapAccessService'],
      keywords: [{ title: 'GEMET', revised: '2008-06-01', value: 'Orthoimagery' }],
    },
  });
});

it('metadata of GeoWebCache’s service and layers are those of the file', () => {
  const root = readXml(
    `<gwcConfiguration>
<serviceInformation><title>Maps</title><keywords><keyword>tiles</keyword></keywords>
<serviceProvider><providerName>Acme</providerName><serviceContact><individualName>Ann</individualName></serviceContact></serviceProvider>
<fees>NONE</fees></serviceInformation>
<layers><wmsLayer><name>a</name>
<metaInformation><title>A</title><keywords><string>roads</string></keywords></metaInformation>
<metadataURLs><metadataURL><type>TC211</type><format>text/xml</format><url>http://maps.test/a.xml</url></metadataURL></metadataURLs>
<wmsUrl><string>http://maps.test/wms</string></wmsUrl></wmsLayer></layers></gwcConfiguration>`,
    LIMITS,
  );
  const places = {
    folder: '/',
    hasTiles: () => false,
    isThere: () => false,
    findArchive: () => null,
    readTable: () => null,
  };
  const { service, layers, report } = importGeoWebCache(root, { ...places, gridSets: builtInGridSets() });
  const contact = { individualName: 'Ann' };
  expect(service).toEqual({ title: 'Maps', keywords: ['tiles'], fees: 'NONE', provider: 'Acme', contact });
  expect(layers).toMatchObject([
    { keywords: ['roads'], metadata: [{ url: 'http://maps.test/a.xml', type: 'TC211', format: 'text/xml' }] },
  ]);
  expect(report.entries.filter(({ fate }) => fate === 'left out')).toEqual([]);
});
