import { remembered } from '../lib/get-or-create.ts';

/** Metadata of the service, for capabilities. */
export interface ServiceDescription {
  readonly title: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly fees: string | null;
  readonly accessConstraints: string | null;
  readonly providerName: string | null;
  readonly providerSite: string | null;
  /** By GeoWebCache's names, e.g. `individualName` and `addressCity`. */
  readonly contact: Readonly<Partial<Record<ContactField, string>>>;
  /** Null: it is no INSPIRE view service. */
  readonly inspire: Inspire | null;
}

/** Metadata of an INSPIRE view service (Regulation (EC) No 976/2009). */
export interface Inspire {
  /** The default first. */
  readonly languages: readonly ServiceLanguage[];
  /** The language of this description. */
  readonly language: string;
  /** The document that describes the service; null only with `metadata`. */
  readonly metadataUrl: InspireLink | null;
  /** The description itself; null: it is linked. */
  readonly metadata: InspireMetadata | null;
}

export interface ServiceLanguage
  extends Partial<Pick<ServiceDescription, 'title' | 'description' | 'keywords'>> {
  /** Three letters of ISO 639-2/B, e.g. `ger`. */
  readonly code: string;
}

export interface InspireLink {
  readonly url: string;
  /** A media type. */
  readonly type: string;
}

/** `2026-01-31` each. */
export interface InspireDates {
  readonly created?: string | undefined;
  readonly revised?: string | undefined;
  readonly published?: string | undefined;
}

/** A document that is cited. */
interface InspireCitation extends InspireDates {
  readonly title: string;
  readonly uris: readonly string[];
  readonly links: readonly InspireLink[];
}

export interface InspireMetadata {
  readonly resources: readonly InspireLink[];
  readonly dates: InspireDates;
  readonly conformities: readonly (InspireCitation & { readonly degree: InspireDegree })[];
  readonly contacts: readonly { readonly organisation: string; readonly email: string }[];
  readonly metadataDate: string;
  readonly mandatoryKeywords: readonly string[];
  /** Keywords of vocabularies. */
  readonly keywords: readonly (InspireCitation & { readonly value: string })[];
}

export const INSPIRE_DEGREES = ['conformant', 'notConformant', 'notEvaluated'] as const;
type InspireDegree = (typeof INSPIRE_DEGREES)[number];

/** In the default language if `code` is not among its languages. */
export function inLanguage(service: ServiceDescription, code: string): ServiceDescription {
  return variantsOf(service).get(code.toLowerCase()) ?? service;
}

const variantsOf = remembered((service: ServiceDescription): ReadonlyMap<string, ServiceDescription> => {
  const { inspire } = service;
  const translated = ({ code, ...texts }: ServiceLanguage) =>
    [code, { ...service, ...texts, inspire: inspire && { ...inspire, language: code } }] as const;
  return new Map(inspire?.languages.map(translated));
});

export const DEFAULT_SERVICE: ServiceDescription = {
  title: 'Tilewarden',
  description: 'Map tiles from a cache',
  keywords: [],
  fees: null,
  accessConstraints: null,
  providerName: null,
  providerSite: null,
  contact: {},
  inspire: null,
};

export type ContactField = (typeof CONTACT_FIELDS)[number];

export const CONTACT_FIELDS = [
  ...(['individualName', 'positionName', 'addressType', 'addressStreet', 'addressCity'] as const),
  ...(['addressAdministrativeArea', 'addressPostalCode', 'addressCountry'] as const),
  ...(['phoneNumber', 'faxNumber', 'addressEmail'] as const),
];

/** Other programs whose tile addresses can be served too. */
export const COMPATIBLE_PROGRAMS = ['mapproxy', 'mapcache', 'geoserver'] as const;
export type CompatibleProgram = (typeof COMPATIBLE_PROGRAMS)[number];
