import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGzip, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Layer } from '../../domain/layer.ts';
import { inLanguage, type ServiceDescription } from '../../domain/service-description.ts';
import { createKeyedSingleFlight } from '../../lib/keyed-single-flight.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { escapeXml } from '../../lib/xml/write-xml.ts';
import { collectYielding } from '../../lib/yielding.ts';
import { areOpenToAll, cacheControlOf, isOpenToAll, visibleLayers } from '../auth/layer-visibility.ts';
import { withKeyInAddresses } from '../auth/reader-key.ts';
import type { Context } from '../context.ts';
import { acceptsGzip, isNotModified, validated } from '../negotiate.ts';
import type { Html as Markup } from '../page.ts';
import type { Headers, Response, Streamer } from '../response.ts';
import { readKvp } from './kvp.ts';

interface LayerDocument {
  readonly write: DocumentWriter;
  readonly contentType: string;
  readonly fileName?: string;
}

/** Cached versions of a document: one for anonymous callers, the others for callers who see other layers. */
const MAX_TEMPLATES = 4;
/** For all compressed documents together: clients choose the address in them by their `Host` header. */
const MAX_COMPRESSED_BYTES = 16 * 1024 * 1024;
const MIN_BYTES_TO_COMPRESS = 8 * 1024;
const MAX_WAITING_TO_COMPRESS = 16;

/**
 * Documents about layers: written once per change, in pieces, and revalidated by clients each time. A changed layer is
 * another object, so a document is current if it was written for the same layers in the same order.
 */
export function createLayerDocuments(roll: LayerRoll, serviceNow: () => ServiceDescription) {
  const serviceFor = ({ query }: Context) => {
    const service = serviceNow();
    return service.inspire ? inLanguage(service, readKvp(query)('LANGUAGE') ?? '') : service;
  };
  const compressed = new RecentMap<string, Buffer>(MAX_COMPRESSED_BYTES);
  const compressing = createKeyedSingleFlight<Buffer>();
  const places = new Semaphore(1, { maxWaiting: MAX_WAITING_TO_COMPRESS });

  /** Null: sent uncompressed. */
  async function compress(context: Context, document: AddressedDocument): Promise<Buffer | null> {
    if (document.bytes < MIN_BYTES_TO_COMPRESS || !acceptsGzip(context.headers['accept-encoding']))
      return null;
    const known = compressed.get(document.id);
    if (known || places.full) return known;
    const compressNow = async () => {
      const bytes = await buffer(Readable.from(document.pieces()).pipe(createGzip()));
      compressed.set(document.id, bytes, bytes.length);
      return bytes;
    };
    return await compressing.run(
      document.id,
      (everyoneGone) => places.during(compressNow, everyoneGone),
      context.signal,
    );
  }

  async function answer(
    context: Context,
    { contentType, fileName }: LayerDocument,
    template: DocumentTemplate,
    layers: readonly Layer[],
    isPublic: boolean,
  ): Promise<Response> {
    const pair = context.key?.pairFor(layers) ?? null;
    const document = addressed(template, context.baseUrl, pair);
    const etag = `"${document.id}"`;
    const headers: Headers = [
      // RFC 9110, 8.8.1: compressed or not, the content is the same.
      ...['ETag', `W/${etag}`],
      ...['Cache-Control', isPublic ? 'no-cache' : 'private, no-cache'],
      ...['Vary', 'Accept-Encoding'],
      ...(fileName === undefined ? [] : ['Content-Disposition', `inline;filename=${fileName}`]),
    ];
    if (isNotModified(context.headers, etag, Number.POSITIVE_INFINITY)) {
      return { status: 304, headers, body: null };
    }
    const typed = ['Content-Type', contentType, ...headers];
    // A document with a key is for one caller, and not cached.
    if (pair !== null) return { status: 200, headers: typed, body: inPieces(document) };
    const bytes = await compress(context, document);
    if (bytes) return { status: 200, headers: [...typed, 'Content-Encoding', 'gzip'], body: bytes };
    if (template.pieces.length === 1) {
      return { status: 200, headers: typed, body: await buffer(document.pieces()) };
    }
    const length = ['Content-Length', String(document.bytes)];
    return { status: 200, headers: [...typed, ...length], body: inPieces(document) };
  }

  return (document: LayerDocument) => {
    const templateOf = createTemplateCache(document.write);
    // Separate: the many callers with keys must not evict other templates.
    const templateWithKey = createTemplateCache(document.write);
    return {
      /** About all layers that the caller may see. */
      async aboutAll(context: Context): Promise<Response> {
        const all = await roll();
        const shown = await visibleLayers(context, all);
        const template = await (context.key ? templateWithKey : templateOf)(shown, serviceFor(context));
        return await answer(context, document, template, shown, areOpenToAll(all) && !context.key);
      },
      /** Only for layers that the caller may see. */
      async about(context: Context, layers: readonly Layer[]): Promise<Response> {
        const template = await writeTemplate(document.write, layers, serviceFor(context));
        return await answer(context, document, template, layers, layers.every(isOpenToAll) && !context.key);
      },
    };
  };
}

interface CachedTemplate {
  readonly times: string;
  readonly service: ServiceDescription;
  readonly layers: readonly Layer[];
  readonly template: Promise<DocumentTemplate>;
}

/** Caches the `MAX_TEMPLATES` templates that were requested last. */
function createTemplateCache(
  write: DocumentWriter,
): (layers: readonly Layer[], service: ServiceDescription) => Promise<DocumentTemplate> {
  let entries: readonly CachedTemplate[] = [];
  return (layers, service) => {
    const times = timesOf(layers);
    const known = entries.find(
      (entry) => entry.service === service && entry.times === times && sameLayers(entry.layers, layers),
    );
    const entry = known ?? { layers, service, times, template: writeTemplate(write, layers, service) };
    entries = [entry, ...entries.filter((other) => other !== known)].slice(0, MAX_TEMPLATES);
    entry.template.catch(() => {
      entries = entries.filter((other) => other !== entry);
    });
    return entry.template;
  };
}

/** A text that changes when layers list other times. */
function timesOf(layers: readonly Layer[]): string {
  let text = '';
  for (const { parameters } of layers) {
    for (const { times } of parameters)
      if (times) text += `${times.revision} ${JSON.stringify(times.summary())}\n`;
  }
  return text;
}

function sameLayers(a: readonly Layer[], b: readonly Layer[]): boolean {
  return a === b || (a.length === b.length && a.every((layer, i) => layer === b[i]));
}

function inPieces(document: AddressedDocument): Streamer {
  return (response, signal) => {
    pipeline(Readable.from(document.pieces()), response, { signal }).catch(() => response.destroy());
  };
}

/** A small document that is written for each request, and revalidated by clients. */
export function documentResponse(
  context: Context,
  document: string | Buffer,
  layers: readonly Layer[],
  contentType: string,
): Response {
  const etag = `"${createHash('sha1').update(document).digest('hex')}"`;
  return validated(context, etag, cacheControlOf(...layers), { body: document, type: contentType });
}

/** A placeholder for the server's address. No name can contain it: XML has no such character. */
export const BASE: Markup = { markup: '\0' };

/** Writes a document about layers, about one step per layer. */
export type DocumentWriter = (layers: readonly Layer[], service: ServiceDescription) => Iterable<string>;

type DocumentTemplate = Awaited<ReturnType<typeof writeTemplate>>;

/** Characters; a few milliseconds of work. */
const PIECE = 64 * 1024;
/** One piece in a turn of the event loop, however many documents are written and sent. */
const pieceTurns = new Semaphore(1);
const nextPiece = () => pieceTurns.during(() => nextTurn());
/** The fastest; a document of 100 MB is a few megabytes in memory. */
const LEVEL = { level: 1 };

/**
 * A document without the server's address, which differs between clients: its pieces, compressed, their length in UTF-8,
 * the number of addresses in them, and a digest.
 */
async function writeTemplate(write: DocumentWriter, layers: readonly Layer[], service: ServiceDescription) {
  const hash = createHash('sha1');
  const pieces: Buffer[] = [];
  let [bytes, addresses, piece] = [0, 0, ''];
  const end = () => {
    hash.update(piece);
    bytes += Buffer.byteLength(piece);
    addresses += piece.split(BASE.markup).length - 1;
    pieces.push(deflateRawSync(piece, LEVEL));
    piece = '';
  };
  for (const text of write(layers, service)) {
    piece += text;
    if (piece.length < PIECE) continue;
    end();
    await nextPiece();
  }
  end();
  return { pieces, bytes, addresses, digest: hash.digest('base64url') };
}

type AddressedDocument = ReturnType<typeof addressed>;

/** The document for clients of this address, with or without a key in every address. */
function addressed(template: DocumentTemplate, base: string, pair: string | null) {
  const address = escapeXml(base);
  const { digest, addresses, pieces } = template;
  const variant = pair === null ? address : `${address} ${pair}`;
  const id = addresses === 0 ? digest : createHash('sha1').update(`${digest} ${variant}`).digest('base64url');
  const keyed = (piece: string) =>
    pair === null ? piece : withKeyInAddresses(piece, BASE.markup, pair, '&amp;');
  const grown = Buffer.byteLength(address) - Buffer.byteLength(BASE.markup);
  return {
    /** Changes with the content. */
    id,
    bytes: template.bytes + addresses * grown,
    async *pieces(): AsyncIterable<Buffer> {
      for (const piece of pieces) {
        if (pieces.length > 1) await nextPiece();
        const text = inflateRawSync(piece).toString();
        yield Buffer.from(keyed(text).replaceAll(BASE.markup, () => address));
      }
    },
  };
}

type ListedCatalog = Pick<Catalog, 'layers' | 'version'>;

/** The chosen layers of the current catalog. */
type LayerRoll = () => Promise<readonly Layer[]>;

/** Walks the catalog once per version, and yields to the event loop. */
export function createLayerRoll(catalog: ListedCatalog, isChosen: (layer: Layer) => boolean): LayerRoll {
  let known: { readonly version: number; readonly layers: Promise<readonly Layer[]> } | null = null;
  return () => {
    if (known?.version !== catalog.version) {
      const layers = collectYielding(catalog.layers()).then((all) => all.filter(isChosen));
      known = { version: catalog.version, layers };
      // A layer that cannot be opened is tried again at the next request.
      layers.catch(() => {
        known = null;
      });
    }
    return known.layers;
  };
}
