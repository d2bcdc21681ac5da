import { type ClientSettings, type Credentials, readClientSettings } from '../config/client-settings.ts';
import { readEnvironment } from '../config/environment.ts';
import type { FlagValues } from './command.ts';
import { CommandFailure } from './command-failure.ts';

/** Speaks to a running server. Every failure is a `CommandFailure` or `ServerUnreachable` in words for people. */
export interface ServerClient {
  readonly server: string;
  get(path: string, signal?: AbortSignal): Promise<unknown>;
  post(path: string, body?: unknown, signal?: AbortSignal): Promise<unknown>;
}

/** Nobody answers; the server may come back. */
export class ServerUnreachable extends CommandFailure {}

/** The server answered that it will not. */
export class ServerRefusal extends CommandFailure {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TIMEOUT_MS = 30_000;
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted; name it in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted; name it in NODE_EXTRA_CA_CERTS',
  CERT_HAS_EXPIRED: 'its certificate has expired',
};

/** For the server and the user that flags and environment name. */
export function serverClientFor(flags: FlagValues): ServerClient {
  const environment = readEnvironment();
  return createServerClient(readClientSettings({ flags, environment, workingFolder: process.cwd() }));
}

export function createServerClient({ server, credentials }: ClientSettings): ServerClient {
  async function ask(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const response = await reach(server, path, {
      method,
      headers: {
        accept: 'application/json',
        ...(credentials && { authorization: authorizationOf(credentials) }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
    });
    const text = await response.text().catch((error: unknown) => {
      throw unreachable(server, error);
    });
    if (response.ok) return readJson(text, server);
    throw refusal(response, text.trim(), credentials);
  }

  return {
    server,
    get: (path, signal) => ask('GET', path, undefined, signal),
    post: (path, body, signal) => ask('POST', path, body, signal),
  };
}

async function reach(server: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${server}${path}`, init);
  } catch (error) {
    throw unreachable(server, error);
  }
}

function unreachable(server: string, error: unknown): Error {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const timedOut = error instanceof Error && error.name === 'TimeoutError';
  const why = timedOut ? 'no answer in time' : (UNREACHABLE[code] ?? messageOf(cause));
  return new ServerUnreachable(
    `The server at ${server} cannot be reached: ${why}.\nIs it running? Another address is given with --server or TILEWARDEN_SERVER.`,
  );
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function authorizationOf(credentials: Credentials): string {
  if (credentials.kind === 'token') return `Bearer ${credentials.token}`;
  const { user, password } = credentials;
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function refusal(
  { status, headers }: Response,
  text: string,
  credentials: Credentials | null,
): ServerRefusal {
  if (status === 401) return new ServerRefusal(status, whoAreYou(credentials));
  if (status === 403) return new ServerRefusal(status, text === '' ? 'You may not do this.' : text);
  const wait = headers.get('retry-after');
  const later = status === 429 && wait !== null ? `\nTry again in ${wait} s.` : '';
  const message = text === '' ? `The server answered ${status} without a word.` : text;
  return new ServerRefusal(status, `${message}${later}`);
}

function whoAreYou(credentials: Credentials | null): string {
  if (credentials?.kind === 'token')
    return 'The server does not accept this token: it is wrong, revoked or expired.';
  if (credentials) return `The server does not accept this password for ${credentials.user}.`;
  return [
    'The server wants to know who is asking. Give TILEWARDEN_USER and TILEWARDEN_PASSWORD, or TILEWARDEN_TOKEN,',
    'or --password-file: until it is changed, the password of admin is in initial-admin-password in the data folder.',
  ].join('\n');
}

function readJson(text: string, server: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`What answers at ${server} is not Tilewarden, or a proxy stands in between.`);
  }
}
