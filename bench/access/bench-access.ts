// The cost of identifying a caller: hits with reader keys, limits, 10,000 keys and an access log, beside hits without; a JWT.
// npm run bench -- access [--seconds 3] [--rounds 3] [--keys 10000]. Needs wrk.
import { KeyObject, verify } from 'node:crypto';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createOidcProvider } from '../../src/access/oidc-provider.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type Contestant, compete, tileNames, writeTileList } from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { createReaderKey } from '../harness/reader-key.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { contestantOf, startServer } from '../harness/server.ts';

const { rounds, keys, seconds } = readOptions({ seconds: 3, rounds: 3, keys: 10_000 });
const ZOOM = 3;
const [CHECKS, BATCH] = [5000, 100];
const ISSUER = 'https://issuer.example';
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
const servers: Contestant[] = [];
try {
  await measureJwt();
  servers.push(await start('without a key', 0, null));
  servers.push(await start('with a key', 0, {}));
  servers.push(await start('with a limit for the day', 0, { requestsPerDay: 1_000_000_000 }));
  servers.push(await start('with a limit for the second', 0, { ratePerSecond: 1_000_000 }));
  servers.push(await start(`among ${keys} keys`, keys, {}));
  servers.push(await start('with an access log', 0, null, '--access-log', join(folder, 'access.log')));
  await compete(servers, { seconds, connections: 32 }, rounds);
} finally {
  for (const server of servers) await server.stop();
}

/** Processor time of this process, which does nothing else: a provider in it would slow down all asynchronous work. */
async function measureJwt(): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'first', alg: 'RS256' }] };
  const documents: Readonly<Record<string, object>> = {
    [`${ISSUER}/keys`]: jwks,
    [`${ISSUER}/.well-known/openid-configuration`]: { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` },
  };
  const fetch = async (address: unknown) => Response.json(documents[String(address)]);
  const provider = createOidcProvider(SETTINGS, { clock: systemClock, log: silentLogger, fetch });
  const tokens: string[] = [];
  for (let i = 0; i < CHECKS; i++) {
    const token = new SignJWT({ groups: ['admins'], jti: String(i) }).setIssuer(ISSUER).setSubject('robot');
    token.setAudience(SETTINGS.clientId).setExpirationTime('1h');
    tokens.push(await token.setProtectedHeader({ alg: 'RS256', kid: 'first' }).sign(privateKey));
  }
  const check = async (token = '') => {
    if (!(await provider.claimsOf(token))) throw new Error('The token is rejected.');
  };
  const [head = '', payload = '', signature = ''] = tokens[0]?.split('.') ?? [];
  const [key, content] = [KeyObject.from(publicKey), Buffer.from(`${head}.${payload}`)];
  await measureChecks('warming up', (i) => check(tokens[i]));
  await measureChecks('each for the first time', (i) => check(tokens[i]));
  await measureChecks('one token again and again', () => check(tokens[0]));
  await measureChecks('its signature alone, by node:crypto', () =>
    verify('sha256', content, key, Buffer.from(signature, 'base64url')),
  );
}

/** The median of batches: other programs disturb some. */
async function measureChecks(name: string, check: (i: number) => unknown): Promise<void> {
  const batches: number[] = [];
  for (let first = 0; first < CHECKS; first += BATCH) {
    const before = process.cpuUsage();
    for (let i = first; i < first + BATCH; i++) await check(i);
    const { user, system } = process.cpuUsage(before);
    batches.push((user + system) / 1000 / BATCH);
  }
  say(`a JWT (RS256), keys cached, ${name}: ${quantile(batches).toFixed(3)} ms of processor`);
}

/** Each has a server, so that one does not warm up another. `limits`: of the key in all requests. */
async function start(
  name: string,
  otherKeys: number,
  limits: object | null,
  ...flags: readonly string[]
): Promise<Contestant> {
  const data = join(folder, name.replaceAll(' ', '-'), 'data');
  const first = await startServer({ data, flags: ['--port', '0'] });
  await first.stop();
  const query = limits === null ? '' : `?key=${await createReaderKey(data, otherKeys, limits)}`;
  const names = tileNames(ZOOM).map((tile) => `${tile}${query}`);
  const tiles = writeTileList(join(data, '..', 'tiles.txt'), names);
  return contestantOf(await startServer({ data, flags: ['--port', '0', ...flags] }), name, tiles);
}
