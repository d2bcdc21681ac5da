import type { FollowSettings, LayerDocument, ServiceState } from '../changes/follow/follow.ts';
import { isTilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { readGeoServerDrawings } from '../import/geoserver-rest.ts';
import type { createRepeatedImport } from '../import/repeated-import.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import { matchesPattern, trimEndOf } from '../lib/scan-text.ts';
import { isRecord } from '../lib/value-path.ts';
import { requestManners } from '../sources/http-options.ts';
import type { UpstreamClient } from '../sources/upstream/upstream-client.ts';

interface ReaderOptions {
  readonly upstreams: UpstreamClient;
  readonly gridSets: () => readonly GridSet[];
  readonly privateAdvice: (host: string) => string;
}

/**
 * Returns a function that reads the map server of a follow, or throws an `Error` with the reason. `needsDrawings`:
 * whether to read a GeoServer's styles, given its `sequence`, which rises with every change of its configuration.
 */
export function createMapServerReader({ upstreams, gridSets, privateAdvice }: ReaderOptions) {
  const imports = new Map<string, ReturnType<typeof createRepeatedImport>>();
  return async (
    follow: FollowSettings,
    needsDrawings: (sequence: string | null) => boolean,
    signal: AbortSignal,
  ): Promise<ServiceState> => {
    const { type, gridSets: chosen } = follow;
    const isGeoServer = type === 'geoserver';
    const { headers } = requestManners({ ...follow, headers: {} });
    // Loaded only now: most servers follow none.
    const { fetchCapabilities } = await import('../import/import-from.ts');
    const { createRepeatedImport: create } = await import('../import/repeated-import.ts');
    const address = isGeoServer
      ? `${baseOf(follow.url)}/wms?SERVICE=WMS&VERSION=1.3.0&REQUEST=GetCapabilities`
      : capabilitiesAddress(follow);
    // The account of a GeoServer is for its REST interface only: its layers are those that are public.
    const account = isGeoServer ? {} : headers;
    const { bytes, url } = await fetchCapabilities(address, upstreams, privateAdvice, signal, account);
    const readAgain = getOrCreate(imports, follow.name, create);
    const service = await readAgain(bytes, {
      address: url,
      only: (name) => follow.layers.some((pattern) => matchesPattern(pattern, name)),
      gridSets: gridSets().filter(({ name }) => chosen === null || chosen.includes(name)),
      complete: (layer) => (isGeoServer ? layer : withLogin(layer, follow)),
    });
    const isRead = isGeoServer && follow.username !== undefined && needsDrawings(service.sequence);
    const rest = restOf(baseOf(follow.url), upstreams, headers, signal);
    const drawings = isRead ? await readGeoServerDrawings([...service.layers.keys()], rest) : null;
    return { ...service, drawings };
  };
}

function baseOf(url: string): string {
  return trimEndOf(url, /\//);
}

/** Adds the service to an address that does not name it. */
function capabilitiesAddress({ url, type }: FollowSettings): string {
  const address = new URL(url);
  const isNamed = [...address.searchParams.keys()].some((name) => /^(service|request)$/i.test(name));
  if (!isNamed && !/\.xml$/i.test(address.pathname)) address.searchParams.set('SERVICE', type.toUpperCase());
  return address.href;
}

/** The account that read the service is also used to request pictures. */
function withLogin(layer: LayerDocument, { username, password }: FollowSettings): LayerDocument {
  if (username === undefined || !isRecord(layer.source)) return layer;
  return { ...layer, source: { ...layer.source, username, password } };
}

const NOT_FOUND = 404;
/** Bytes of a document of the REST interface, which is parsed in one turn of the event loop. */
export const MAX_REST = 512 * 1024;

function restOf(
  base: string,
  upstreams: Pick<UpstreamClient, 'get'>,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) {
  async function read(path: string): Promise<string | null> {
    const url = new URL(`${base}/rest/${path}`);
    const request = { url, headers, priority: 'task', signal, alsoAccept: [NOT_FOUND] } as const;
    const { status, bytes } = await upstreams.get(request).catch((error: unknown) => {
      if (!isTilewardenError(error)) throw error;
      const why = error.cause instanceof Error ? ` (${hideCredentials(error.cause.message)})` : '';
      throw new Error(`GeoServer's REST interface cannot be read at ${url.pathname}: ${error.message}${why}`);
    });
    if (bytes.length > MAX_REST)
      throw new Error(`${url.pathname} of GeoServer is longer than ${MAX_REST} bytes.`);
    return status === NOT_FOUND ? null : bytes.toString('utf8');
  }
  return {
    text: read,
    async json(path: string): Promise<unknown> {
      const text = await read(path);
      try {
        return text === null ? null : JSON.parse(text);
      } catch {
        throw new Error(
          `GeoServer's REST interface did not answer ${path} with JSON; is the account an administrator's?`,
        );
      }
    },
  };
}
