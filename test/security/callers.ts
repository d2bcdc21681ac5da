import type { Role } from '../../src/access/caller.ts';
import { basic, GOOD_PASSWORD, openTestAccounts, type TestAccounts } from '../fixtures/accounts.ts';
import { createVirtualClock } from '../fixtures/clocks.ts';

export interface TestCaller {
  readonly title: string;
  /** Null: anonymous. */
  readonly role: Role | null;
  readonly layers: readonly string[];
  headers(): Record<string, string>;
  /** Each guess has its own address: tests of permissions must not be slowed down. */
  address(): string;
}

/** Never used: an unsigned token is rejected before. */
const NO_ISSUER = {
  issuer: 'http://127.0.0.1:1',
  clientId: 'tilewarden',
  clientSecret: 'secret',
  scopes: [],
  audience: null,
  roleClaim: 'groups',
  roles: { admins: 'admin', staff: 'operator' },
  layersClaim: null,
} as const;

export const PROXY = '192.0.2.1';
export const PROXY_LOGIN = {
  user: 'X-Auth-User',
  groups: 'X-Auth-Groups',
  roles: { admins: 'admin', readers: 'viewer' },
} as const;

function proxied(groups: string): Record<string, string> {
  return { 'x-auth-user': 'rosa', 'x-auth-groups': groups };
}

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const UNSIGNED = `${encoded({ alg: 'none' })}.${encoded({ sub: 'rosa', groups: ['admins'] })}.`;

/** One of each kind of caller, over real accounts. */
export async function openCallers(): Promise<{
  readonly accounts: TestAccounts;
  readonly callers: readonly TestCaller[];
}> {
  const clock = createVirtualClock();
  const accounts = await openTestAccounts(clock, undefined, { oidc: NO_ISSUER, proxyLogin: PROXY_LOGIN });
  const users = [
    { name: 'vera', role: 'viewer', layers: ['*'] },
    { name: 'otto', role: 'operator', layers: ['*'] },
    { name: 'olga', role: 'operator', layers: ['other', 'oth*'] },
    { name: 'anna', role: 'admin', layers: ['*'] },
  ] as const;
  const added = await Promise.all(
    users.map((user) => accounts.users.add({ ...user, password: GOOD_PASSWORD })),
  );
  const expired = await accounts.tokens.create(
    { name: 'old', role: 'admin', layers: ['*'], expiresAt: clock.now() + 1000 },
    'anna',
  );
  const token = await accounts.tokens.create(
    { name: 'new', role: 'operator', layers: ['*'], expiresAt: null },
    'anna',
  );
  const session = (added[0] && (await accounts.sessions.begin(added[0]))) ?? '';
  const external = await accounts.externals.begin({
    issuer: NO_ISSUER.issuer,
    subject: 'subject',
    name: 'anna',
    claims: { [NO_ISSUER.roleClaim]: ['staff'] },
    issuedAt: clock.now(),
  });
  const rights = { areas: null, origins: null, ratePerSecond: null, requestsPerDay: null, expiresAt: null };
  const { secret: key } = await accounts.readerKeys.create(
    { name: 'portal', layers: ['*'], ...rights },
    'anna',
  );
  clock.advance(1000);

  let strangers = 0;
  const nextAddress = () => {
    strangers += 1;
    return `10.${(strangers >> 16) & 255}.${(strangers >> 8) & 255}.${strangers & 255}`;
  };
  const stranger = (title: string, authorization: string | null): TestCaller => ({
    title,
    role: null,
    layers: [],
    headers: () => (authorization === null ? {} : { authorization }),
    address: nextAddress,
  });
  const known = (
    title: string,
    role: Role,
    headers: Record<string, string>,
    layers: readonly string[] = ['*'],
  ): TestCaller => ({ title, role, layers, headers: () => headers, address: () => '127.0.0.1' });
  const user = (name: string) => ({ authorization: basic(name, GOOD_PASSWORD) });

  return {
    accounts,
    callers: [
      stranger('anonymous', null),
      stranger('with a wrong password', basic('anna', 'wrong')),
      stranger('with an expired token', `Bearer ${expired.secret}`),
      known('viewer', 'viewer', user('vera')),
      known('viewer in a session', 'viewer', { cookie: `tilewarden=${session}` }),
      { ...stranger('with a key for readers', null), headers: () => ({ 'x-api-key': key }) },
      { ...stranger('with a header of a proxy that is not trusted', null), headers: () => proxied('admins') },
      stranger('with an unsigned token of an issuer', `Bearer ${UNSIGNED}`),
      known('operator by OpenID Connect', 'operator', { cookie: `tilewarden=${external}` }),
      { ...known('viewer by a proxy', 'viewer', proxied('readers')), address: () => PROXY },
      known('operator', 'operator', user('otto')),
      known('operator by token', 'operator', { authorization: `Bearer ${token.secret}` }),
      known('operator limited to another layer', 'operator', user('olga'), ['other', 'oth*']),
      known('admin', 'admin', user('anna')),
    ],
  };
}
