// What it costs to know a caller: hits with reader keys, day limits, 10,000 keys and an access log, beside hits without; a JWT.
import { KeyObject, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createOidcProvider } from '../../src/access/oidc-provider.ts';
import { createReaderKeyStore } from '../../src/access/reader-key-store.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { FROM_BUILD, startServerProcess } from '../harness/server-process.ts';
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
const [CHECKS, BATCH] = [5000, 100];
const ISSUER = 'https://issuer.example';
const DISCOVERY = `${ISSUER}/.well-known/openid-configuration`;
const SETTINGS = {
  issuer: ISSUER,
  clientId: 'tilewarden',
  clientSecret: 'for benchmarks',
  scopes: [],
  audience: null,
  roleClaim: 'groups',
  roles: { admins: 'admin' },
  layersClaim: null,
} as const;

const folder = temporaryFolder();
const servers: { readonly contestant: Contestant; readonly tiles: string }[] = [];
try {
  await measureJwt();
  if (programPath('wrk') === null) throw new Error('Hits are not measured: install wrk.');
  servers.push(await start('without a key', 0, null, []));
  servers.push(await start('with a key', 0, {}, []));
  servers.push(await start('with a limit for the day', 0, { requestsPerDay: 1_000_000_000 }, []));
  servers.push(await start('with a limit for the second', 0, { ratePerSecond: 1_000_000 }, []));
  servers.push(await start(`among ${others} keys`, others, {}, []));
  servers.push(await start('with an access log', 0, null, ['--access-log', join(folder, 'access.log')]));
  await compete();
} finally {
  for (const { contestant } of servers) await contestant.stop();
}

/** Processor time of this process, which does nothing else: a provider in it would slow down all that is asynchronous. */
async function measureJwt(): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'first', alg: 'RS256' }];
  const answers: Readonly<Record<string, object>> = {
    [`${ISSUER}/keys`]: { keys },
    [DISCOVERY]: { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` },
  };
  const fetch = async (address: unknown) => Response.json(answers[String(address)]);
  const provider = createOidcProvider(SETTINGS, { clock: systemClock, log: silentLogger, fetch });
  const tokens: string[] = [];
  for (let i = 0; i < CHECKS; i++) {
    const token = new SignJWT({ groups: ['admins'], jti: String(i) }).setIssuer(ISSUER).setSubject('robot');
    token.setAudience(SETTINGS.clientId).setExpirationTime('1h');
    tokens.push(await token.setProtectedHeader({ alg: 'RS256', kid: 'first' }).sign(privateKey));
  }
  const check = async (token = '') => {
    if (!(await provider.claimsOf(token))) throw new Error('It is refused.');
  };
  const [key, signature] = [
    KeyObject.from(publicKey),
    Buffer.from(tokens[0]?.split('.')[2] ?? '', 'base64url'),
  ];
  const [signed = ''] = /^.*(?=\.)/.exec(tokens[0] ?? '') ?? [];
  await measureChecks('warming up', (i) => check(tokens[i]));
  await measureChecks('each for the first time', (i) => check(tokens[i]));
  await measureChecks('one token again and again', () => check(tokens[0]));
  await measureChecks('its signature alone, by node:crypto', () =>
    verify('sha256', Buffer.from(signed), key, signature),
  );
}

/** The median of batches: other programs disturb some. */
async function measureChecks(what: string, check: (i: number) => unknown): Promise<void> {
  const batches: number[] = [];
  for (let first = 0; first < CHECKS; first += BATCH) {
    const before = process.cpuUsage();
    for (let i = first; i < first + BATCH; i++) await check(i);
    const { user, system } = process.cpuUsage(before);
    batches.push((user + system) / 1000 / BATCH);
  }
  say(`a JWT (RS256), keys cached, ${what}: ${quantile(batches).toFixed(3)} ms of processor`);
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
  const { url, pid, stop } = await startServerProcess(data, 'log: { level: warn }', FROM_BUILD, flags);
  return { name: '', url, prefix: '/tiles/world', pids: () => [pid], stop };
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
        `  ${each.toFixed(1)} µs of processor each  ${processor.toFixed(2)}`,
    );
  }
}
