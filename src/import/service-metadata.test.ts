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
    readXml: () => null,
  };
  const { service, layers, report } = importGeoWebCache(root, { ...places, gridSets: builtInGridSets() });
  const contact = { individualName: 'Ann' };
  expect(service).toEqual({ title: 'Maps', keywords: ['tiles'], fees: 'NONE', provider: 'Acme', contact });
  expect(layers).toMatchObject([
    { keywords: ['roads'], metadata: [{ url: 'http://maps.test/a.xml', type: 'TC211', format: 'text/xml' }] },
  ]);
  expect(report.entries.filter(({ fate }) => fate === 'left out')).toEqual([]);
});
