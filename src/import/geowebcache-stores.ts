import { omitUndefined } from '../lib/omit-undefined.ts';
import { childOf, type XmlElement } from '../lib/xml/xml-element.ts';
import { nameBucket } from './bucket-names.ts';
import type { AdoptBuckets, ImportReport } from './import-report.ts';
import { TrackedTable } from './tracked-table.ts';
import { tableOfXml } from './xml-table.ts';

export interface AdoptableStore {
  /** Null: whether a layer has tiles in the store is not known. */
  readonly folder: string | null;
  /** An entry of a layer's `adopt`. */
  readonly adopt: { readonly layout: string; readonly folder: string; readonly [key: string]: unknown };
}

interface FoundStore extends AdoptableStore {
  readonly bucket?: object;
}

const NOT_READ = 'its tiles are not read here; layers keep theirs in the store default';

/** The blob stores by id, the default one also by the empty id; null: its tiles cannot be read here. */
export function geoWebCacheStores(
  root: XmlElement,
  { folder, isThere }: { readonly folder: string; readonly isThere: (folder: string) => boolean },
  report: ImportReport,
): { readonly stores: ReadonlyMap<string, AdoptableStore | null>; readonly buckets: AdoptBuckets } {
  const stores = new Map<string, AdoptableStore | null>([['', inFolder(folder)]]);
  const buckets = new Map<string, object>();
  for (const element of childOf(root, 'blobStores')?.children ?? []) {
    const table = tableOfXml(element);
    const id = String(table.id ?? '');
    const about = report.about(`blob store ${id}`);
    const fields = new TrackedTable(table, about);
    fields.text('id');
    const isEnabled = fields.flag('enabled') !== false;
    const store = isEnabled ? (STORES[element.name]?.(fields, folder) ?? null) : null;
    const named = store?.bucket && nameBucket(buckets, id, store.bucket);
    const adoptable = store && named ? { ...store, adopt: { ...store.adopt, bucket: named } } : store;
    stores.set(id, adoptable);
    if (fields.flag('@default')) stores.set('', adoptable);
    if (!store) {
      about.leftOut(element.name, isEnabled ? NOT_READ : 'it is disabled');
      continue;
    }
    const { adopt } = store;
    const found = named !== undefined || isThere(adopt.folder);
    const place = named ? `its bucket (adoptBuckets.${named})` : adopt.folder;
    const tiles = found
      ? `layers adopt what is in ${place}`
      : `there is no folder ${adopt.folder} here, so layers adopt nothing from it`;
    about.changed(element.name, `${tiles}, and keep their tiles in the store default`);
    fields.report({ fileSystemBlockSize: 'the bytes that tiles really take are counted' });
  }
  return { stores, buckets: Object.fromEntries(buckets) };
}

function inFolder(folder: string, paths: 'default' | 'tms' | 'slippy' = 'default'): AdoptableStore {
  return { folder, adopt: { layout: 'geowebcache', folder, ...(paths !== 'default' && { paths }) } };
}

function inBucket(fields: TrackedTable, options: object): FoundStore {
  const folder = fields.text('prefix') || '/';
  return { folder: null, adopt: { layout: 'geowebcache', folder }, bucket: omitUndefined(options) };
}

/** Null: a required field is missing. */
type ReadStore = (fields: TrackedTable, folder: string) => FoundStore | null;

const STORES: Readonly<Record<string, ReadStore>> = {
  FileBlobStore(fields, folder) {
    const paths = fields.text('pathGeneratorType')?.toLowerCase();
    const known = paths === 'tms' || paths === 'slippy' ? paths : 'default';
    return inFolder(fields.text('baseDirectory') ?? folder, known);
  },
  S3BlobStore(fields) {
    const [bucket, endpoint] = [fields.text('bucket'), fields.text('endpoint')];
    const [accessKeyId, secretAccessKey] = [
      secretIn(fields, 'awsAccessKey'),
      secretIn(fields, 'awsSecretKey'),
    ];
    const keys = accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : {};
    const own = endpoint ? { endpoint: withScheme(endpoint), pathStyle: true } : {};
    const region = fields.text('region') || undefined;
    return bucket ? inBucket(fields, { type: 's3', bucket, region, ...own, ...keys }) : null;
  },
  AzureBlobStore(fields) {
    const [container, account] = [fields.text('container'), secretIn(fields, 'accountName')];
    const key = secretIn(fields, 'accountKey');
    const endpoint = fields.text('serviceURL') || undefined;
    const options = { type: 'azure', container, account, key, endpoint };
    return container && account && key ? inBucket(fields, options) : null;
  },
  /** Google's interface for S3 takes HMAC keys, which GeoWebCache does not have. */
  GoogleCloudStorageBlobStore(fields) {
    const bucket = fields.text('bucket');
    const keys = { accessKeyId: { env: 'GOOGLE_HMAC_ID' }, secretAccessKey: { env: 'GOOGLE_HMAC_SECRET' } };
    const endpoint = 'https://storage.googleapis.com';
    return bucket ? inBucket(fields, { type: 's3', bucket, endpoint, region: 'auto', ...keys }) : null;
  },
  MbtilesBlobStore(fields) {
    const [folder, template] = [fields.text('rootDirectory'), fields.text('templatePath')];
    const [rows, columns] = [fields.number('rowRangeCount'), fields.number('columnRangeCount')];
    if (!folder) return null;
    const adopt = { layout: 'geowebcache-mbtiles', folder, ...omitUndefined({ template, rows, columns }) };
    return { folder: template === undefined ? folder : null, adopt };
  },
};

function secretIn(fields: TrackedTable, key: string): string | { readonly env: string } | undefined {
  const text = fields.text(key) || undefined;
  const name = /^\$\{(\w+)\}$/.exec(text ?? '')?.[1];
  return name === undefined ? text : { env: name };
}

function withScheme(endpoint: string): string {
  return /^https?:\/\//i.test(endpoint) ? endpoint : `https://${endpoint}`;
}
