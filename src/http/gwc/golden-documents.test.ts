import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';
import {
  changedConfiguration,
  DEFAULT_QUOTA_CONFIGURATION,
  type QuotaChange,
} from '../../quota/quota-configuration.ts';
import type { QuotaService } from '../../quota/quota-service.ts';
import type { MassTruncation } from '../../tasks/mass-truncation.ts';

type GoldenFamily = 'mass-truncate' | 'disk-quota';

interface GoldenResponse {
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
  /** The call or change that the request has caused; null: none. */
  readonly done: unknown;
}

/** Sends a document of `test/golden` to a server of its own. Returns the response and its effect. */
async function askGolden(
  family: GoldenFamily,
  format: 'xml' | 'json',
  body: Buffer,
): Promise<GoldenResponse> {
  const done: unknown[] = [];
  const note =
    <T>(what: string, answer: T) =>
    async (...parameters: unknown[]): Promise<T> => {
      done.push([what, ...parameters.map(plain)]);
      return answer;
    };
  const massTruncation = {
    truncateLayer: note('truncateLayer', undefined),
    truncateAll: note('truncateAll', []),
    truncateParameters: note('truncateParameters', undefined),
    truncateOrphans: note('truncateOrphans', undefined),
    truncateExtent: note('truncateExtent', []),
  } as unknown as MassTruncation;
  const change = async (quotaChange: QuotaChange) => {
    const changed = changedConfiguration(DEFAULT_QUOTA_CONFIGURATION, quotaChange);
    done.push(quotaChange);
    return changed;
  };
  const settings = { read: async () => DEFAULT_QUOTA_CONFIGURATION, change, subscribe: () => () => {} };
  const quota = { settings } as unknown as QuotaService;
  const catalog = catalogOf([layerNamed('world'), layerNamed('topp:states')]);
  const { request } = createTestApp({ deps: { catalog, massTruncation, quota } });
  const headers = { 'content-type': format === 'xml' ? 'text/xml' : 'application/json' };
  const [method, path] =
    family === 'mass-truncate' ? ['POST', '/masstruncate'] : ['PUT', `/diskquota.${format}`];
  const {
    status,
    headers: responseHeaders,
    text,
  } = await request(method ?? '', path ?? '', { headers, body });
  return { status, contentType: responseHeaders['content-type'] ?? null, text, done: done[0] ?? null };
}

function plain(value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

const GOLDEN = fileURLToPath(new URL('../../../test/golden', import.meta.url));

describe.each<GoldenFamily>(['mass-truncate', 'disk-quota'])('a document of %s', (family) => {
  const folder = join(GOLDEN, family);
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.answer.json'))
    .map((name) => name.replace('.answer.json', ''));

  it.each(names)(`the golden ${family} document "%s" has its result, as XML and as JSON`, async (name) => {
    const golden = JSON.parse(readFileSync(join(folder, `${name}.answer.json`), 'utf8')) as unknown;
    const [xml, json] = await Promise.all([
      askGolden(family, 'xml', readFileSync(join(folder, `${name}.xml`))),
      askGolden(family, 'json', readFileSync(join(folder, `${name}.json.txt`))),
    ]);
    expect({ xml, json }).toEqual(golden);
  });
});
