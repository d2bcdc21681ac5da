import type {
  Inspire,
  InspireDates,
  InspireLink,
  InspireMetadata,
  ServiceDescription,
} from '../../domain/service-description.ts';
import { EMPTY, type Html as Markup, html as markup, tagged } from '../page.ts';

/** Extended capabilities of INSPIRE view services, in the order of the schema common 1.0. */

const COMMON = 'http://inspire.ec.europa.eu/schemas/common/1.0';
const SCHEMAS = {
  wms: ['inspire_vs/1.0', 'inspire_vs/1.0/inspire_vs.xsd'],
  wmts: ['inspire_vs_ows11/1.0', 'inspire_vs_ows11/1.0/inspire_vs_ows_11.xsd'],
} as const;

/** Empty unless it is an INSPIRE service. */
export function extendedCapabilities({ inspire }: ServiceDescription, kind: keyof typeof SCHEMAS): Markup {
  if (!inspire) return EMPTY;
  const [namespace, schema] = SCHEMAS[kind].map((path) => `http://inspire.ec.europa.eu/schemas/${path}`);
  const metadataUrl = linkElement('MetadataUrl', inspire.metadataUrl);
  const content = inspire.metadata
    ? [metadata(inspire.metadata), languages(inspire), metadataUrl]
    : [metadataUrl, languages(inspire)];
  return markup`<inspire_vs:ExtendedCapabilities xmlns:inspire_vs="${namespace ?? ''}" xmlns:inspire_common="${COMMON}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="${namespace ?? ''} ${schema ?? ''}">${content}</inspire_vs:ExtendedCapabilities>\n`;
}

function common(name: string, content: string | null | undefined): Markup {
  return tagged(`inspire_common:${name}`, content ?? null);
}

function inside(name: string, content: readonly Markup[]): Markup {
  const tag: Markup = { markup: `inspire_common:${name}` };
  return markup`<${tag}>${content}</${tag}>`;
}

function linkElement(name: string, link: InspireLink | null): Markup {
  return link ? inside(name, [common('URL', link.url), common('MediaType', link.type)]) : EMPTY;
}

function language(code: string): Markup {
  return common('Language', code);
}

function languages({ languages: [first, ...others], language: code }: Inspire): Markup {
  const supported = [
    inside('DefaultLanguage', [language(first?.code ?? code)]),
    ...others.map((other) => inside('SupportedLanguage', [language(other.code)])),
  ];
  return markup`${inside('SupportedLanguages', supported)}${inside('ResponseLanguage', [language(code)])}`;
}

function metadata(given: InspireMetadata): Markup {
  return markup`${given.resources.map((link) => linkElement('ResourceLocator', link))}${common('ResourceType', 'service')}${inside('TemporalReference', dates(given.dates))}${given.conformities.map(conformity)}${given.contacts.map(contact)}${common('MetadataDate', given.metadataDate)}${common('SpatialDataServiceType', 'view')}${given.mandatoryKeywords.map((word) => inside('MandatoryKeyword', [common('KeywordValue', word)]))}${given.keywords.map(keyword)}`;
}

function dates({ created, revised, published }: InspireDates): readonly Markup[] {
  return [
    common('DateOfCreation', created),
    common('DateOfLastRevision', revised),
    common('DateOfPublication', published),
  ];
}

type Citation = InspireMetadata['conformities'][number] | InspireMetadata['keywords'][number];

/** A citation has one date. */
function citation(name: string, { title, uris, links, created, revised, published }: Citation): Markup {
  const [first] = [{ published }, { created }, { revised }].filter((one) => Object.values(one)[0]);
  return inside(name, [
    common('Title', title),
    ...dates(first ?? {}),
    ...uris.map((uri) => common('URI', uri)),
    ...links.map((link) => linkElement('ResourceLocator', link)),
  ]);
}

function conformity(given: InspireMetadata['conformities'][number]): Markup {
  return inside('Conformity', [citation('Specification', given), common('Degree', given.degree)]);
}

function contact({ organisation, email }: InspireMetadata['contacts'][number]): Markup {
  return inside('MetadataPointOfContact', [
    common('OrganisationName', organisation),
    common('EmailAddress', email),
  ]);
}

function keyword(given: InspireMetadata['keywords'][number]): Markup {
  return inside('Keyword', [
    citation('OriginatingControlledVocabulary', given),
    common('KeywordValue', given.value),
  ]);
}
