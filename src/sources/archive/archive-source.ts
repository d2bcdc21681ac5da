import { constants, open } from 'node:fs/promises';
import { z } from 'zod';
import { TilewardenError } from '../../domain/errors.ts';
import { text, texts } from '../../lib/schemas.ts';
import {
  CONNECTION_OPTIONS,
  type HttpOptions,
  httpAddress,
  httpOptions,
  requestManners,
} from '../http-options.ts';
import { isOffered, requireOffered, SINGLE_TILES, tileOf } from '../single-tiles.ts';
import type { SourceDriver, SourceTools } from '../source-driver.ts';
import { createSourceLife } from '../source-life.ts';
import type { SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import type { SourceUpstream } from '../upstream/upstream-client.ts';
import { type Archive, openMbtiles, VECTOR_TILE } from './mbtiles.ts';
import { type FileParts, openPmtilesArchive } from './pmtiles-archive.ts';

/** Ready-made tiles in one file: MBTiles, or PMTiles here or on a web server. */
export const archiveSourceOptions = z
  .strictObject({
    type: z.literal('archive'),
    path: text.optional().describe('A file: .mbtiles or .pmtiles'),
    url: httpAddress
      .optional()
      .describe('Address of a .pmtiles file on a server that answers requests for parts of it'),
    gridSets: texts
      .min(1)
      .optional()
      .describe('Grid sets whose zooms, columns and rows the archive counts in; web mercator when left out'),
    ...httpOptions,
  })
  .superRefine(({ path, url }, context) => {
    const refuse = (message: string, at: string[]) =>
      context.addIssue({ code: 'custom', message, path: at, input: path ?? url });
    if ((path === undefined) === (url === undefined)) refuse('needs either path or url', []);
    if (path !== undefined && !/\.(mbtiles|pmtiles)$/i.test(path)) {
      refuse('must end in .mbtiles or .pmtiles', ['path']);
    }
  });

type ArchiveSourceOptions = z.output<typeof archiveSourceOptions>;
type ArchiveTools = Pick<SourceTools, 'upstream' | 'clock'>;

/** Reads tiles from one file. A missing tile is empty: an archive is complete. */
export function openArchiveSource(options: ArchiveSourceOptions, tools: ArchiveTools): TileSource {
  const life = createSourceLife();
  const archive = openArchive(options, tools);

  async function fetch(request: SourceRequest, signal: AbortSignal): Promise<SourceResult> {
    requireOffered('The tile archive', options.gridSets, request.gridSet);
    const tile = await archive.tile(tileOf(request), { priority: request.priority, signal });
    if (!tile) return { kind: 'nothing' };
    checkKind(tile.mediaType, request);
    return { kind: 'encoded', ...tile };
  }

  return {
    maxMetatile: SINGLE_TILES,
    fetch: (request) => life.during(request.signal, (signal) => fetch(request, signal)),
    vectorLayers: (signal) =>
      life.during(signal, async (linked) => {
        const metadata = await archive.metadata({ priority: 'interactive', signal: linked });
        return Array.isArray(metadata.vector_layers) ? metadata.vector_layers : [];
      }),
    async close() {
      life.end();
      await archive.close();
    },
  };
}

function openArchive(options: ArchiveSourceOptions, { upstream, clock }: ArchiveTools): Archive {
  const { path, url } = options;
  if (url !== undefined) return openPmtilesArchive(createRemoteFileParts(url, options, upstream));
  if (path?.toLowerCase().endsWith('.mbtiles')) return openMbtiles(path, clock);
  return openPmtilesArchive(createLocalFileParts(path ?? ''));
}

/** Pictures can be converted into one another; features and pictures cannot. */
function checkKind(mediaType: string | null, { format }: SourceRequest): void {
  if (mediaType === null || (mediaType === VECTOR_TILE) === (format.kind === 'opaque')) return;
  throw new TilewardenError(
    'source-bad-answer',
    `The tile archive holds ${mediaType}, not ${format.mediaType}.`,
    { reason: 'wrong-type' },
  );
}

/** A pipe in place of the file must not block. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Parts of a file of this machine. It is opened for each read, so that a replaced file takes effect immediately. */
function createLocalFileParts(path: string): FileParts {
  return {
    async read(offset, length, { signal }) {
      signal.throwIfAborted();
      const file = await open(path, READ_FLAGS);
      try {
        const { ino, size, mtimeMs } = await file.stat();
        // An archive may claim any length: the buffer is no larger than the file.
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
        const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
        return { bytes: bytes.subarray(0, bytesRead), version: `${ino}-${size}-${mtimeMs}` };
      } finally {
        await file.close();
      }
    },
  };
}

const PARTIAL_CONTENT = 206;

/** Reads parts of a remote file by range requests (RFC 9110, 14), through the shared upstream client. */
function createRemoteFileParts(url: string, options: HttpOptions, upstream: SourceUpstream): FileParts {
  const { headers, ...defaults } = requestManners(options);
  return {
    async read(offset, length, { priority, signal }) {
      const { status, bytes, etag } = await upstream.get({
        url: new URL(url),
        headers: { ...headers, range: `bytes=${offset}-${offset + length - 1}` },
        ...defaults,
        priority,
        signal,
        alsoAccept: [PARTIAL_CONTENT],
      });
      // RFC 9110, 14.2: a server may ignore ranges and send the whole file.
      const part = status === PARTIAL_CONTENT ? bytes : bytes.subarray(offset, offset + length);
      return { bytes: part, version: strongTag(etag) };
    },
  };
}

/** RFC 9110, 8.8.1: a weak tag does not promise the same bytes. */
function strongTag(etag: string | null): string | null {
  return etag?.startsWith('W/') ? null : etag;
}

export const archiveDriver = {
  type: 'archive',
  options: archiveSourceOptions,
  shown: ['url', 'path'],
  connection: CONNECTION_OPTIONS,
  pictures: 'ready-made',
  passesCredentials: false,
  queryable: false,
  offers: ({ gridSets }, gridSet) => isOffered(gridSets, gridSet),
  fileOption: ({ path }) => (path === undefined ? null : ['path']),
  open: openArchiveSource,
} as const satisfies SourceDriver<ArchiveSourceOptions>;
