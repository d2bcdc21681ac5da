import { shortened, TilewardenError } from '../../domain/errors.ts';
import { type DocumentNode, leaf, nodeOf } from '../../geowebcache/document-node.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { Answer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import { documentAnswer, listAnswer, resourceRoutes } from './representation.ts';

/** A store as it may be shown: no secret. */
export interface StoreDescription {
  readonly name: string;
  readonly type: string;
  /** Absolute path; null where tiles do not lie in a folder. */
  readonly folder: string | null;
  /** What else its driver is told and GeoWebCache has a word for, e.g. `bucket`. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
}

const PATH = '/rest/blobstores';
const KINDS: Readonly<Record<string, string>> = {
  bundle: 'FileBlobStore',
  file: 'FileBlobStore',
  s3: 'S3BlobStore',
  memory: 'MemoryBlobStore',
};
const DEFAULT_STORE = 'default';
const BLOCK_SIZE = 4096;

/** `/rest/blobstores`: our stores in GeoWebCache's words. They are declared in the configuration file. */
export function blobStoreRoutes(stores: readonly StoreDescription[]): readonly Route[] {
  const role = () => 'admin' as const;
  const one = { GET: show, PUT: refuseChange, DELETE: refuseRemoval };
  return [
    ...resourceRoutes({ path: PATH, role, what: 'the stores', handlers: { GET: list } }),
    ...resourceRoutes({ path: `${PATH}/{store}`, role, what: 'a store', handlers: one }),
  ];

  function list(exchange: Exchange, format: DocumentFormat): Answer {
    const names = stores.map(({ name }) => name);
    return listAnswer(exchange, format, { names, entry: 'blobStore', path: PATH });
  }

  function show(exchange: Exchange, format: DocumentFormat): Answer {
    return documentAnswer(describe(found('get', exchange)), format);
  }

  function refuseRemoval(exchange: Exchange): never {
    found('remove', exchange);
    return refuseChange();
  }

  function found(verb: 'get' | 'remove', exchange: Exchange): StoreDescription {
    const name = exchange.param('store');
    const store = stores.find((one) => one.name === name);
    if (store) return store;
    const what = `A BlobStoreInfo with name "${shortened(name)}" does not exist.`;
    throw new HttpProblem('path-unknown', `Failed to ${verb} BlobStoreInfo. ${what}`);
  }
}

function refuseChange(): never {
  throw new TilewardenError(
    'entry-read-only',
    'Stores are declared under "stores" in the configuration file; change them there and restart the server.',
  );
}

function describe({ name, type, folder, options }: StoreDescription): DocumentNode {
  const root = nodeOf(KINDS[type] ?? 'FileBlobStore', [
    leaf('id', name),
    leaf('enabled', true),
    leaf('baseDirectory', folder),
    leaf('fileSystemBlockSize', folder === null ? null : BLOCK_SIZE),
    ...Object.entries(options).map(([option, value]) => leaf(option, value)),
  ]);
  return { ...root, attributes: { default: String(name === DEFAULT_STORE) } };
}
