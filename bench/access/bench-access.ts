// What it costs to know a caller: hits with reader keys, day limits, 10,000 keys and an access log, beside hits without; a JWT.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createOidcProvider } from '../../src/access/oidc-provider.ts';
import { createReaderKeyStore } from '../../src/access/reader-key-store.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openOidcIssuer } from '../../test/fixtures/oidc-issuer.ts';
import { type Contestant, measureLoad, programPath } from '../hits/measure-hits.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    keys: { type: 'string', default: '10000' },
  },
});
const [seconds, rounds, others] = [values.seconds, values.rounds, values.keys].map(Number) as [
  number,
  number,
  number,
];
const ZOOM = 3;
const CHECKS = 5000;

const folder = mkdtempSync(join(tmpdir(), 'tilewarden-access-'));
const servers: { readonly contestant: Contestant; readonly tiles: string }[] = [];
try {
  await measureJwt();
  if (programPath('wrk') === null) throw new Error('Hits are not measured: install wrk.');
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
  servers.push(await start('without a key', 0, null, []));
  servers.push(await start('with a key', 0, {}, []));
  servers.push(await start('with a limit for the day', 0, { requestsPerDay: 1_000_000_000 }, []));
  servers.push(await start('with a limit for the second', 0, { ratePerSecond: 1_000_000 }, []));
  servers.push(await start(`among ${others} keys`, others, {}, []));
  servers.push(await start('with an access log', 0, null, ['--access-log', join(folder, 'access.log')]));
  await compete();
} finally {
  for (const { contestant } of servers) await contestant.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Processor time of this process, which does nothing else. */
async function measureJwt(): Promise<void> {
  const issuer = await openOidcIssuer(() => ({}));
  const provider = createOidcProvider(issuer.settings, { clock: systemClock, log: silentLogger });
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const claims = { iss: issuer.url, aud: 'tilewarden', sub: 'robot', exp: expires, groups: ['admins'] };
  const tokens = await Promise.all(
    Array.from({ length: CHECKS }, (_, i) => issuer.sign({ ...claims, jti: String(i) })),
  );
  const measure = async (what: string, tokenAt: (i: number) => string) => {
    const before = process.cpuUsage();
    for (let i = 0; i < CHECKS; i++)
      if (!(await provider.claimsOf(tokenAt(i)))) throw new Error('It is refused.');
    const { user, system } = process.cpuUsage(before);
    say(
      `a JWT (RS256), keys cached, ${what}: ${((user + system) / 1000 / CHECKS).toFixed(3)} ms of processor\n`,
    );
  };
  await measure('warming up', (i) => tokens[i] ?? '');
  await measure('each for the first time', (i) => tokens[i] ?? '');
  await measure('one token again and again', () => tokens[0] ?? '');
  await issuer.close();
}

/** A server of its own for each, so that one does not warm up another. */
async function start(name: string, more: number, limits: object | null, flags: readonly string[]) {
  const data = join(folder, name.replaceAll(' ', '-'));
  const child = await serve(data, []);
  await child.stop();
  const secret = limits === null ? null : await createKeys(data, more, limits);
  const contestant = await serve(data, flags);
  const query = secret === null ? '' : `?key=${secret}`;
  const tiles = join(folder, `${name.replaceAll(' ', '-')}.txt`);
  const names = Array.from(
    { length: 4 ** ZOOM },
    (_, i) => `${ZOOM}/${i >> ZOOM}/${i % 2 ** ZOOM}.png${query}`,
  );
  writeFileSync(tiles, `${names.join('\n')}\n`);
  return { contestant: { ...contestant, name }, tiles };
}

async function serve(data: string, flags: readonly string[]): Promise<Contestant> {
  const args = ['dist/cli/main.js', 'serve', '--port', '0', '--data', data, ...flags];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /ready at (\S+)\/$/.exec(line)?.[1];
    if (url === undefined) continue;
    const stop = async () => {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    };
    return { name: '', url, prefix: '/tiles/world', pids: () => [server.pid ?? 0], stop };
  }
  throw new Error('The server did not start.');
}

async function createKeys(data: string, more: number, limits: object): Promise<string> {
  const location = join(data, 'tilewarden.db');
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
  const store = createReaderKeyStore(database, systemClock);
  const none = { origins: null, ratePerSecond: null, requestsPerDay: null, expiresAt: null };
  const draft = { name: 'bench', layers: ['world'], ...none };
  for (let i = 0; i < more; i++) await store.create(draft, 'bench');
  const { secret } = await store.create({ ...draft, ...limits }, 'bench');
  await database.close();
  return secret;
}

/** In turns, so that whatever else the machine does hits all; the best round of each is the one least disturbed. */
async function compete(): Promise<void> {
  const best = servers.map(() => ({ perSecond: 0, each: Number.POSITIVE_INFINITY }));
  for (let round = -1; round < rounds; round++) {
    for (const [i, { contestant, tiles }] of servers.entries()) {
      const result = await measureLoad(contestant, { seconds, connections: 32, zoom: ZOOM, tiles });
      const known = best[i];
      // The first round fills memories and lets code be compiled.
      if (!known || round < 0) continue;
      known.perSecond = Math.max(known.perSecond, result.requestsPerSecond);
      known.each = Math.min(known.each, result.microsecondsEach);
    }
  }
  const [first] = best;
  for (const [i, { contestant }] of servers.entries()) {
    const { perSecond = 0, each = 0 } = best[i] ?? {};
    const share = perSecond / (first?.perSecond ?? 1);
    const processor = (first?.each ?? 0) / each;
    say(
      `hits ${contestant.name.padEnd(28)} ${String(Math.round(perSecond)).padStart(7)} requests/s  ${share.toFixed(2)}` +
        `  ${each.toFixed(1)} µs of processor each  ${processor.toFixed(2)}\n`,
    );
  }
}

function say(text: string): void {
  process.stdout.write(text);
}
