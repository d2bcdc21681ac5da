import { describe, expect, it } from 'vitest';
import { createTestApp, testDeps } from '../../../test/fixtures/http-app.ts';
import { serviceSchema } from '../../config/service-schema.ts';
import { DEFAULT_SERVICE } from '../../domain/service-description.ts';
import { readXml } from '../../lib/xml/read-xml.ts';
import type { XmlElement } from '../../lib/xml/xml-element.ts';

const LIMITS = { bytes: 2 ** 20, depth: 32, elements: 10_000, attributes: 64 };
const metadataUrl = { url: 'http://maps.test/csw?a&b' };
const languages = ['eng', { code: 'ger', title: 'Karten', abstract: 'Alle Karten' }];

function appWith(inspire: object) {
  const given = serviceSchema.parse({ inspire }).inspire ?? null;
  const service = { ...DEFAULT_SERVICE, title: 'Maps', inspire: given };
  return createTestApp({ deps: { service: { ...testDeps().service, current: service } } });
}

async function extended(inspire: object, query: string, service = 'wms') {
  const { text } = await appWith(inspire).request(
    'GET',
    `/service/${service}?REQUEST=GetCapabilities&${query}`,
  );
  const root = readXml(text.replace(/<!DOCTYPE.*?\]>/s, ''), LIMITS);
  const [found] = elements(root, 'ExtendedCapabilities');
  return { text, found, outline: found ? found.children.map(outline) : null };
}

const elements = (node: XmlElement, name: string): readonly XmlElement[] =>
  node.children.flatMap((child) => [...(child.name === name ? [child] : []), ...elements(child, name)]);
/** `Name=text`, or `Name(children)`. */
const outline = ({ name, text, children }: XmlElement): string =>
  children.length === 0 ? `${name}=${text}` : `${name}(${children.map(outline).join(' ')})`;

describe('an INSPIRE view service', () => {
  it.each([
    ['wms', 'VERSION=1.3.0', 'inspire_vs/1.0'],
    ['wmts', '', 'inspire_vs_ows11/1.0'],
  ])('INSPIRE metadata are linked from the capabilities of %s', async (service, query, namespace) => {
    const { text, outline } = await extended({ metadataUrl, languages }, query, service);
    expect(text).toContain(`xmlns:inspire_vs="http://inspire.ec.europa.eu/schemas/${namespace}"`);
    expect(outline).toEqual([
      'MetadataUrl(URL=http://maps.test/csw?a&b MediaType=application/vnd.iso.19139+xml)',
      'SupportedLanguages(DefaultLanguage(Language=eng) SupportedLanguage(Language=ger))',
      'ResponseLanguage(Language=eng)',
    ]);
  });

  it('INSPIRE metadata are embedded in the order of their schema', async () => {
    const document = { title: 'R', published: '2010-12-08', uris: ['OJ'], links: [metadataUrl] };
    const metadata = {
      resources: [metadataUrl],
      dates: { created: '2015-05-01', revised: '2016-05-01' },
      conformities: [{ ...document, degree: 'notEvaluated' }],
      contacts: [{ organisation: 'Acme', email: 'a@maps.test' }],
      metadataDate: '2015-07-23',
      keywords: [{ title: 'GEMET', revised: '2008-06-01', value: 'Orthoimagery' }],
    };
    const { outline } = await extended({ metadata, metadataUrl, languages: ['eng'] }, 'VERSION=1.3.0');
    const link = '(URL=http://maps.test/csw?a&b MediaType=application/vnd.iso.19139+xml)';
    expect(outline).toEqual([
      `ResourceLocator${link}`,
      'ResourceType=service',
      'TemporalReference(DateOfCreation=2015-05-01 DateOfLastRevision=2016-05-01)',
      `Conformity(Specification(Title=R DateOfPublication=2010-12-08 URI=OJ ResourceLocator${link}) Degree=notEvaluated)`,
      'MetadataPointOfContact(OrganisationName=Acme EmailAddress=a@maps.test)',
      'MetadataDate=2015-07-23',
      'SpatialDataServiceType=view',
      'MandatoryKeyword(KeywordValue=infoMapAccessService)',
      'Keyword(OriginatingControlledVocabulary(Title=GEMET DateOfLastRevision=2008-06-01) KeywordValue=Orthoimagery)',
      'SupportedLanguages(DefaultLanguage(Language=eng))',
      'ResponseLanguage(Language=eng)',
      `MetadataUrl${link}`,
    ]);
  });

  it('capabilities are in the language of LANGUAGE, otherwise in the default one', async () => {
    const app = appWith({ metadataUrl, languages });
    const titles = async (query: string) => {
      const { text } = await app.request('GET', `/service/wms?REQUEST=GetCapabilities&VERSION=1.3.0${query}`);
      return [/<Title>(.*?)<\/Title>/, /<Abstract>(.*?)<\/Abstract>/, /ResponseLanguage><.*?>(.*?)</].map(
        (pattern) => pattern.exec(text)?.[1],
      );
    };
    expect(await titles('&language=ger')).toEqual(['Karten', 'Alle Karten', 'ger']);
    for (const query of ['', '&LANGUAGE=fre', '&LANGUAGE=eng'])
      expect(await titles(query)).toEqual(['Maps', DEFAULT_SERVICE.description, 'eng']);
  });

  it('WMS 1.1.1 has no INSPIRE metadata', async () => {
    expect(await extended({ metadataUrl, languages }, 'VERSION=1.1.1')).toMatchObject({ outline: null });
  });

  it.each([
    [{ languages: ['eng'] }, 'needs metadataUrl, metadata or both'],
    [{ metadataUrl, languages: ['en'] }, 'three letters of ISO 639-2'],
    [{ metadataUrl, languages: [] }, '>=1'],
  ])('INSPIRE metadata %j are refused', (inspire, message) => {
    expect(JSON.stringify(serviceSchema.safeParse({ inspire }).error?.issues)).toContain(message);
  });
});
