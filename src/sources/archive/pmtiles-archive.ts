import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import type { Header, PMTiles, RangeResponse, ResolvedValueCache } from 'pmtiles';
import {
  type Archive,
  type ArchiveAccess,
  archiveDamaged,
  archiveFailure,
  archiveUnavailable,
  VECTOR_TILE,
} from './mbtiles.ts';

/** Parts of a local or remote file. */
export interface FileParts {
  /** A `version` that differs from an earlier one: the file was replaced. */
  read(
    offset: number,
    length: number,
    access: ArchiveAccess,
  ): Promise<{ readonly bytes: Buffer; readonly version: string | null }>;
}

const SPEC_VERSION = 3;
/** PMTiles 3, 3.3: tile types by number. */
const MEDIA_TYPES: readonly (string | null)[] = [
  null,
  VECTOR_TILE,
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/avif',
];
/** PMTiles 3, 3.2: kinds of compression by number. */
const NOT_COMPRESSED = 1;
const GZIP = 2;
const BROTLI = 3;
const MAX_UNPACKED_BYTES = 32 * 1024 * 1024;
const MAX_DIRECTORIES = 256;
/** Limits after unpacking: each is parsed in one turn of the event loop. */
const MAX_METADATA_BYTES = 2 * 1024 * 1024;
const MAX_DIRECTORY_BYTES = 2 * 1024 * 1024;
/** Limit of one read by the library: the header with the root directory, another directory, or a tile. */
const MAX_PART_BYTES = 32 * 1024 * 1024;

const inflate = promisify(gunzip);
const inflateBrotli = promisify(brotliDecompress);

/** Loaded on first use: few processes need the library, and it takes a tenth of a process's load time. */
const loadLibrary = () => import('pmtiles');

/** The file has been replaced between two reads. */
class Replaced extends Error {}

/** A file in the format PMTiles 3. Its header and directories are kept in memory, its tiles are not. */
export function openPmtilesArchive(parts: FileParts): Archive {
  let directories: Promise<ResolvedValueCache> | null = null;

  /** The archive with the signal and priority of one request. All views share the directories in memory. */
  async function view(access: ArchiveAccess): Promise<PMTiles> {
    const source = {
      getKey: () => 'archive',
      async getBytes(
        offset: number,
        length: number,
        _?: AbortSignal,
        known?: string,
      ): Promise<RangeResponse> {
        if (!Number.isSafeInteger(offset) || length > MAX_PART_BYTES)
          throw archiveDamaged('a part is too large');
        const { bytes, version } = await parts.read(offset, length, access);
        if (bytes.length > length) throw archiveDamaged('more came than was asked for');
        if (known !== undefined && version !== known) throw new Replaced();
        return { data: arrayOf(bytes), ...(version !== null && { etag: version }) };
      },
    };
    // Gzipped vector tiles are stored and served unchanged; archives do not gzip images.
    const keepPacked = async (bytes: ArrayBuffer, kind: number) =>
      kind === GZIP ? bytes : await unpack(bytes, kind);
    const { PMTiles } = await loadLibrary();
    directories ??= createCache();
    return new PMTiles(source, await directories, keepPacked);
  }

  async function reading<T>(access: ArchiveAccess, read: (view: PMTiles) => Promise<T>): Promise<T> {
    try {
      return await read(await view(access)).catch(async (error: unknown) => {
        if (!(error instanceof Replaced)) throw error;
        directories = null;
        return read(await view(access));
      });
    } catch (error) {
      throw archiveFailure(error, access.signal);
    }
  }

  return {
    tile: ({ z, x, y }, access) =>
      reading(access, async (archive) => {
        const header = await checkedHeader(archive);
        const tile = await archive.getZxy(z, x, y, access.signal);
        if (!tile) return null;
        return { bytes: Buffer.from(tile.data), mediaType: MEDIA_TYPES[header.tileType] ?? null };
      }),
    metadata: (access) =>
      reading(access, async (archive) => {
        const header = await checkedHeader(archive);
        const { jsonMetadataOffset: offset, jsonMetadataLength: length } = header;
        if (length > MAX_METADATA_BYTES) return {};
        const { data } = await archive.source.getBytes(offset, length, access.signal, header.etag);
        const json = await unpack(data, header.internalCompression);
        if (json.byteLength > MAX_METADATA_BYTES) return {};
        return JSON.parse(Buffer.from(json).toString('utf8')) as Record<string, unknown>;
      }),
    async close() {},
  };
}

async function createCache(): Promise<ResolvedValueCache> {
  const { ResolvedValueCache } = await loadLibrary();
  return new ResolvedValueCache(MAX_DIRECTORIES, undefined, async (bytes, kind) => {
    const directory = await unpack(bytes, kind);
    if (directory.byteLength > MAX_DIRECTORY_BYTES) throw archiveDamaged('a directory is too large');
    return directory;
  });
}

async function checkedHeader(archive: PMTiles): Promise<Header> {
  const header = await archive.getHeader();
  if (header.specVersion === SPEC_VERSION) return header;
  throw archiveUnavailable(new Error(`it is PMTiles of version ${header.specVersion}, not ${SPEC_VERSION}`));
}

async function unpack(bytes: ArrayBuffer, kind: number): Promise<ArrayBuffer> {
  const limits = { maxOutputLength: MAX_UNPACKED_BYTES };
  if (kind === NOT_COMPRESSED) return bytes;
  if (kind === GZIP) return arrayOf(await inflate(bytes, limits));
  if (kind === BROTLI) return arrayOf(await inflateBrotli(bytes, limits));
  throw archiveUnavailable(new Error(`its compression, number ${kind}, is not known here`));
}

function arrayOf({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}
