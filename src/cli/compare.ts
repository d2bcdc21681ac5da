/** `import --compare`: sends the same requests to an old server and to this one, as a proof that a move is complete. */
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readClientSettings } from '../config/client-settings.ts';
import { readOutboundProxies, readVersion, settingsInput } from '../config/environment.ts';
import { type Comparison, headerDifferences, VERDICTS } from '../import/compare-responses.ts';
import { comparisonPage, countOf } from '../import/comparison-page.ts';
import { answeredRequests } from './access-log.ts';
import { CommandFailure, type FlagValues, flag, misuse, progressOn, type Terminal } from './command.ts';
import { columns, countText } from './format.ts';
import { INTERRUPTED, openInterruption } from './process-setup.ts';
import { authorizationOf } from './server-client.ts';

export const COMPARE_FLAGS = [
  flag('compare', 'OLD_URL', 'import nothing: ask the old server and this one for the same addresses'),
  flag('requests', 'FILE', 'with --compare: an access log, Combined, JSON or of uWSGI; -: standard input'),
  flag('sample', 'N', 'with --compare: different addresses of the log (500)'),
  flag('tolerance', 'N', 'with --compare: how far channels of pixels may differ, 0 to 255 (2)'),
  flag('concurrency', 'N', 'with --compare: requests at the same time, 1 to 16 (2)'),
  flag('page', 'FILE.html', 'with --compare: a page with the pictures that differ'),
];

const MAX_SAMPLE = 10_000;
/** Not compared: pages for people and their parts, and administration. Each program has its own. */
const PAGE =
  /^(?:\/(?!(?:gmaps|kml|tiles|tms|wmts)\/)[^/]+)?\/(?:demo|home|rest)(?:\/|$)|^\/geoserver\/web\/|\.(?:css|html?|ico|js|txt)$/;
/** Rows that are printed; the page has all. */
const MAX_ROWS = 20;
const MAX_HEADERS = 5;

/** Exit code 0: every answer is the same, or refused by both servers, and one at least is the same. */
export async function compare(flags: FlagValues, terminal: Terminal, source: string): Promise<number> {
  if (source !== '') throw misuse(`--compare imports nothing: leave out ${source}.`);
  const { requests, page } = flags;
  const oldUrl = URL.canParse(flags.compare ?? '') ? new URL(flags.compare ?? '') : null;
  if (!oldUrl || !/^https?:$/.test(oldUrl.protocol))
    throw misuse(`--compare must be an address such as http://maps.example.org, not ${flags.compare}.`);
  if (requests === undefined) throw misuse('--compare requires --requests.');
  if (page !== undefined && existsSync(page)) throw misuse(`${page} already exists; choose another file.`);
  if (page !== undefined && !existsSync(dirname(page))) throw misuse(`${dirname(page)} is not a folder.`);
  const tolerance = intFlag(flags, 'tolerance', 2, [0, 255]);
  const concurrency = intFlag(flags, 'concurrency', 2, [1, 16]);
  const size = intFlag(flags, 'sample', 500, [1, MAX_SAMPLE]);
  const input = settingsInput(flags);
  const { server, credentials } = readClientSettings(input);
  const addresses = await sampleAddresses(requests, oldUrl.pathname, size);
  if (addresses.length === 0)
    throw new CommandFailure(
      `--requests ${requests} has no answered GET request for a map or tile, in Combined Log Format, JSON or uWSGI's format.`,
    );
  const { compareServers } = await import('../import/compare-servers.ts');
  const interruption = openInterruption();
  const show = progressOn(terminal, 'request');
  const { origin, pathname, username, password } = oldUrl;
  const basic = {
    kind: 'password',
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  } as const;
  try {
    const comparisons = await compareServers({
      old: { url: `${origin}${pathname}`, authorization: username === '' ? null : authorizationOf(basic) },
      new: { url: server, authorization: credentials && authorizationOf(credentials) },
      addresses,
      tolerance,
      concurrency,
      keepPictures: page !== undefined,
      proxies: readOutboundProxies(input.environment),
      userAgent: `Tilewarden/${readVersion()} (import --compare)`,
      signal: interruption.signal,
      onProgress: (done) => show(done, addresses.length),
    });
    terminal.out(comparisonTable(comparisons));
    const old = `${origin}${pathname}`;
    if (page !== undefined)
      writeFileSync(page, comparisonPage({ old, new: server, tolerance, comparisons }), { flag: 'wx' });
    if (comparisons.every(({ verdict }) => verdict === 'neither'))
      throw new Error(
        `Both servers refuse every request of ${requests}; does OLD_URL begin as its addresses do?`,
      );
    return comparisons.every(({ verdict }) => verdict === 'same' || verdict === 'neither') ? 0 : 1;
  } catch (error) {
    if (interruption.signal.aborted) return INTERRUPTED;
    throw error instanceof Error ? new CommandFailure(error.message) : error;
  } finally {
    interruption.close();
  }
}

function intFlag(flags: FlagValues, name: string, usual: number, [least = 0, most = 0]: readonly number[]) {
  const number = Number(flags[name] ?? usual);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw misuse(`--${name} must be a whole number from ${least} to ${most}, not ${flags[name]}.`);
}

/** Different addresses, those with the smallest hashes: spread over the log, and the same ones at every run. */
async function sampleAddresses(file: string, root: string, size: number): Promise<readonly string[]> {
  let hashes = new Map<string, string>();
  const smallest = () => [...hashes].sort(([, a], [, b]) => (a < b ? -1 : 1)).slice(0, size);
  for await (const address of answeredRequests(file, 'requests')) {
    const isPage = PAGE.test(address.replace(/\?.*/s, '')) || ['/', root, `${root}/`].includes(address);
    if (!address.startsWith('/') || isPage || hashes.has(address)) continue;
    hashes.set(address, createHash('sha1').update(address).digest('hex'));
    if (hashes.size >= 2 * size + 1000) hashes = new Map(smallest());
  }
  return smallest().map(([address]) => address);
}

function comparisonTable(comparisons: readonly Comparison[]): string {
  const counts = VERDICTS.map((verdict) => [verdict, String(countOf(comparisons, verdict))]);
  const others = comparisons.filter(({ verdict }) => verdict !== 'same' && verdict !== 'neither');
  const rows = others
    .slice(0, MAX_ROWS)
    .map(({ verdict, reasons, address }) => [verdict, reasons.join('; '), address]);
  const headers = headerDifferences(comparisons)
    .slice(0, MAX_HEADERS)
    .map(({ header: [name, ...values], count }) => [
      name,
      ...values.map((value) => value || '–'),
      String(count),
    ]);
  const more = others.length > MAX_ROWS ? `… and ${countText(others.length - MAX_ROWS)} more\n` : '';
  return [
    columns([['result', 'requests'], ...counts], ['requests']),
    ...(rows.length > 0 ? [`\n${columns([['result', 'difference', 'address'], ...rows])}${more}`] : []),
    ...(headers.length > 0 ? [`\n${columns([['header', 'old', 'new', 'requests'], ...headers])}`] : []),
  ].join('');
}
