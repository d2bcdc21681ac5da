/** Serves the built files: console, public map, documentation. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from '../context.ts';
import { acceptsGzip, validated } from '../negotiate.ts';
import { type Response, slashAdded, withHeaders } from '../response.ts';
import { publicRoute, type Route } from '../route.ts';

export type WebAsset = ReturnType<typeof createWebAsset>;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/** Pages run and show only content of this server. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const INDEX = 'index.html';
/** The build puts a hash of the content into these names, so their content never changes. */
const HASHED = /^assets\/.*-[\w-]{8}\.\w+$/;

/** Lists all files at the start, so that no request makes a path of the file system. */
export async function listWebAssets(folder: string): Promise<readonly WebAsset[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => {
    const contentType = entry.isFile() ? CONTENT_TYPES[extname(entry.name)] : undefined;
    if (contentType === undefined) return [];
    const file = join(entry.parentPath, entry.name);
    return [createWebAsset(relative(folder, file).split(sep).join('/'), contentType, file)];
  });
}

/** `path`: relative to the folder of the build, with slashes, e.g. `assets/index-1a2b.js`. */
function createWebAsset(path: string, contentType: string, file: string) {
  let reading: Promise<ReturnType<typeof contentOf>> | null = null;
  return {
    path,
    contentType,
    /** Read with the first request: most files are documentation pages that are rarely read. */
    content() {
      reading ??= readFile(file)
        .then(contentOf)
        .catch((error: unknown) => {
          reading = null;
          throw error;
        });
      return reading;
    },
  };
}

function contentOf(bytes: Buffer) {
  let packing: Promise<Buffer | null> | null = null;
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return {
    bytes,
    /** Compressed with the first call; null if that saves less than a tenth. */
    packed(): Promise<Buffer | null> {
      packing ??= pack(bytes);
      return packing;
    },
    etag: `"${hash}"`,
  };
}

/** Paths of the front page; the last two are GeoWebCache's paths. */
const FRONT = ['/', '/home', '/demo'];

export function assetRoutes(assets: readonly WebAsset[]): readonly Route[] {
  return assets.flatMap((asset) => {
    const { path } = asset;
    const routes = (paths: readonly string[]) =>
      paths.map((one) => publicRoute(one, (context) => assetResponse(context, asset)));
    if (path === INDEX) return routes(FRONT);
    if (!path.endsWith(`/${INDEX}`)) return routes([`/${path}`]);
    // `/docs` redirects to `/docs/`, whose page has relative addresses.
    const folder = dirname(path);
    const bare = publicRoute(`/${folder}`, () => slashAdded(folder));
    return [...routes([`/${path}`, `/${folder}/`]), bare];
  });
}

async function pack(bytes: Buffer): Promise<Buffer | null> {
  const packed = await promisify(gzip)(bytes);
  return packed.length < bytes.length * 0.9 ? packed : null;
}

async function assetResponse(context: Context, asset: WebAsset): Promise<Response> {
  const content = await asset.content();
  const packed = acceptsGzip(context.headers['accept-encoding']) ? await content.packed() : null;
  const lifetime = HASHED.test(asset.path) ? 'public, max-age=31536000, immutable' : 'no-cache';
  const policy = ['Content-Security-Policy', PAGE_POLICY];
  const headers = ['Cache-Control', lifetime, ...policy, 'Vary', 'Accept-Encoding'];
  const body = packed ?? content.bytes;
  const answer = validated(context, content.etag, headers, { body, type: asset.contentType });
  return packed && answer.body ? withHeaders(answer, ['Content-Encoding', 'gzip']) : answer;
}
