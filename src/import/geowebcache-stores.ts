import { childOf, type XmlElement } from '../lib/xml/xml-element.ts';
import type { ImportReport } from './import-report.ts';
import { TrackedTable } from './tracked-table.ts';
import { tableOfXml } from './xml-table.ts';

export interface FileStore {
  readonly folder: string;
  readonly paths: 'default' | 'tms' | 'slippy';
}

const NOT_READ = 'its tiles are not read here; layers keep theirs in the store default';

/** The blob stores by id, the default one by the empty id too; null stands for one whose tiles cannot be read here. */
export function geoWebCacheStores(
  root: XmlElement,
  { folder, isThere }: { readonly folder: string; readonly isThere: (folder: string) => boolean },
  report: ImportReport,
): ReadonlyMap<string, FileStore | null> {
  const stores = new Map<string, FileStore | null>([['', { folder, paths: 'default' }]]);
  for (const element of childOf(root, 'blobStores')?.children ?? []) {
    const table = tableOfXml(element);
    const id = String(table.id ?? '');
    const about = report.about(`blob store ${id}`);
    const fields = new TrackedTable(table, about);
    fields.text('id');
    const store = readStore(element.name, fields, folder);
    stores.set(id, store);
    if (fields.flag('@default')) stores.set('', store);
    if (!store) {
      about.leftOut(element.name, fields.flag('enabled') === false ? 'it is disabled' : NOT_READ);
      continue;
    }
    const tiles = isThere(store.folder)
      ? `layers adopt what is in ${store.folder}`
      : `there is no folder ${store.folder} here, so layers adopt nothing from it`;
    about.changed(element.name, `${tiles}, and keep their tiles in the store default`);
    fields.report({ fileSystemBlockSize: 'the bytes that tiles really take are counted' });
  }
  return stores;
}

function readStore(kind: string, fields: TrackedTable, folder: string): FileStore | null {
  if (kind !== 'FileBlobStore' || fields.flag('enabled') === false) return null;
  const paths = fields.text('pathGeneratorType')?.toLowerCase();
  return {
    folder: fields.text('baseDirectory') ?? folder,
    paths: paths === 'tms' || paths === 'slippy' ? paths : 'default',
  };
}
