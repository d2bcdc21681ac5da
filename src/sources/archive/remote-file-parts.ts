import { type HttpOptions, requestManners } from '../http-options.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import type { FileParts } from './pmtiles-archive.ts';

const PARTIAL_CONTENT = 206;

/** Parts of a file on a web server, asked for by range (RFC 9110, 14) on the one way out of the house. */
export function createRemoteFileParts(
  url: string,
  options: HttpOptions,
  upstream: UpstreamClient,
): FileParts {
  const { headers, ...manners } = requestManners(options);
  return {
    async read(offset, length, { priority, signal }) {
      const { status, bytes, etag } = await upstream.get({
        url: new URL(url),
        headers: { ...headers, range: `bytes=${offset}-${offset + length - 1}` },
        ...manners,
        priority,
        signal,
        alsoAccept: [PARTIAL_CONTENT],
      });
      // RFC 9110, 14.2: a server may ignore ranges and send all of it.
      const part = status === PARTIAL_CONTENT ? bytes : bytes.subarray(offset, offset + length);
      return { bytes: part, version: strongTag(etag) };
    },
    close: async () => {},
  };
}

/** RFC 9110, 8.8.1: a weak tag does not promise the same bytes. */
function strongTag(etag: string | null): string | null {
  return etag?.startsWith('W/') ? null : etag;
}
