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
}

export const DEFAULT_SERVICE: ServiceDescription = {
  title: 'Tilewarden',
  description: 'Map tiles from a cache',
  keywords: [],
  fees: null,
  accessConstraints: null,
  providerName: null,
  providerSite: null,
  contact: {},
};

export type ContactField = (typeof CONTACT_FIELDS)[number];

export const CONTACT_FIELDS = [
  ...(['individualName', 'positionName', 'addressType', 'addressStreet', 'addressCity'] as const),
  ...(['addressAdministrativeArea', 'addressPostalCode', 'addressCountry'] as const),
  ...(['phoneNumber', 'faxNumber', 'addressEmail'] as const),
];

/** Programs whose tile addresses can be answered besides ours. */
export const COMPATIBLE_PROGRAMS = ['mapproxy', 'mapcache', 'geoserver'] as const;
export type CompatibleProgram = (typeof COMPATIBLE_PROGRAMS)[number];
