import { readService } from '../geowebcache/global-document.ts';
import {
  childrenNamed,
  elementText,
  entriesOf,
  onlyChild,
  textField,
  type WireElement,
} from '../geowebcache/wire-element.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import type { TrackedTable } from './tracked-table.ts';

/** MapProxy's fields of a contact, and ours. */
const CONTACT: Readonly<Record<string, string>> = {
  person: 'individualName',
  position: 'positionName',
  address_type: 'addressType',
  address: 'addressStreet',
  city: 'addressCity',
  state: 'addressAdministrativeArea',
  postcode: 'addressPostalCode',
  country: 'addressCountry',
  phone: 'phoneNumber',
  fax: 'faxNumber',
  email: 'addressEmail',
};

/** `md` of a service of MapProxy, as `service` of the configuration file. */
export function mapProxyService(md: TrackedTable): object | undefined {
  const contactTable = md.table('contact');
  const contact = omitUndefined(
    Object.fromEntries(Object.entries(CONTACT).map(([there, here]) => [here, contactTable.text(there)])),
  );
  const service = omitUndefined({
    title: md.text('title'),
    abstract: md.text('abstract'),
    keywords: keywordsIn(md),
    fees: md.text('fees'),
    constraints: md.text('access_constraints'),
    provider: contactTable.text('organization') ?? contactTable.text('organisation'),
    site: md.take('online_resource', httpAddressOf, 'an http address'),
    ...(Object.keys(contact).length > 0 && { contact }),
  });
  return Object.keys(service).length > 0 ? service : undefined;
}

function httpAddressOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^https?:\/\//.test(value) ? value : undefined;
}

/** `keyword_list`: lists with or without a vocabulary, which is not imported. */
export function keywordsIn(md: TrackedTable): readonly string[] | undefined {
  const words = md.tables('keyword_list').flatMap((list) => list.texts('keywords'));
  return words.length === 0 ? undefined : words;
}

/** `metadata` and `identifier` in `md` of a layer of MapProxy. */
export function mapProxyMetadata(md: TrackedTable): object {
  const metadata = md.tables('metadata').flatMap((one) => {
    const url = one.take('url', httpAddressOf, 'an http address');
    return url === undefined
      ? []
      : [omitUndefined({ url, type: one.text('type'), format: one.text('format') })];
  });
  const [id, ...others] = md.tables('identifier');
  if (others.length > 0) md.leaveOut('identifier', 'a layer has one identifier: the first is taken');
  const url = id?.take('url', httpAddressOf, 'an http address');
  const [authority, value] = [id?.text('name'), id?.text('value')];
  const isWhole = url && authority && value && /^[A-Za-z_][\w.-]*$/.test(authority);
  return {
    keywords: keywordsIn(md),
    metadata: metadata.length === 0 ? undefined : metadata,
    identifier: isWhole ? { authority, url, value } : undefined,
  };
}

/** GeoWebCache's `serviceInformation`, as `service` of the configuration file. */
export function geoWebCacheService(root: WireElement): object | undefined {
  const information = onlyChild(root, 'serviceInformation');
  if (!information) return undefined;
  const read = readService(information);
  const service = {
    title: textField(information, 'title'),
    abstract: read.description,
    keywords: read.keywords,
    fees: read.fees,
    constraints: read.accessConstraints,
    provider: read.providerName,
    site: httpAddressOf(read.providerSite),
    contact: read.contact,
  };
  const filled = Object.entries(service).filter(([, value]) => value && Object.keys(value).length > 0);
  return filled.length === 0 ? undefined : Object.fromEntries(filled);
}

/** `keywords` and `metadataURLs` of a layer of GeoWebCache. */
export function geoWebCacheMetadata(layer: WireElement): object {
  const about = onlyChild(layer, 'metaInformation');
  const keywords = about ? (entriesOf(about, 'keywords', ['string', 'keyword']) ?? []).map(elementText) : [];
  const metadata = childrenNamed(layer, 'metadataURLs')
    .flatMap(({ children }) => children)
    .flatMap((one) => {
      const url = httpAddressOf(textField(one, 'url'));
      const [type, format] = [textField(one, 'type'), textField(one, 'format')];
      return url === undefined ? [] : [omitUndefined({ url, type, format })];
    });
  return { ...(keywords.length > 0 && { keywords }), ...(metadata.length > 0 && { metadata }) };
}
