import { once } from 'node:events';
import { type IncomingMessage, request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import type { ApiResponse } from '../app.ts';
import { type ClientSettings, type Credentials, readClientSettings } from '../config/client-settings.ts';
import { settingsInput } from '../config/environment.ts';
import { closestName, someOf } from '../lib/closest-name.ts';
import { plainReason } from '../lib/plain-reason.ts';
import { CommandFailure, type FlagValues } from './command.ts';

export type ServerClient = ReturnType<typeof createServerClient>;

/** The server cannot be reached; it may come back. */
export class ServerUnreachable extends CommandFailure {}

export class ServerRefusal extends CommandFailure {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TIMEOUT_MS = 30_000;
const SUCCESS = 200;
const REDIRECTION = 300;
const UNAUTHORIZED = 401;
const NOT_FOUND = 404;
const TOO_MANY_REQUESTS = 429;
const SERVER_FAILED = 500;

/** A server that restarts continues its tasks; a command that follows one waits for it. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof ServerRefusal)) return error instanceof ServerUnreachable;
  return error.status === TOO_MANY_REQUESTS || error.status >= SERVER_FAILED;
}

/** Flags by the field of a request that each sets, e.g. `zoomStart` and `zoom-start`. */
export type FieldFlags = Readonly<Record<string, string>>;

/** For the server and the user in flags and environment. */
export function serverClientFor(flags: FlagValues, fields: FieldFlags = {}): ServerClient {
  return createServerClient(readClientSettings(settingsInput(flags)), fields);
}

/** A client of a running server. Every failure is a `CommandFailure` or `ServerUnreachable` with a message for users. */
export function createServerClient({ server, credentials }: ClientSettings, fields: FieldFlags = {}) {
  async function ask(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const response = await exchange(server, path, {
      method,
      headers: {
        accept: 'application/json',
        ...(credentials && { authorization: authorizationOf(credentials) }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? '' : JSON.stringify(body),
      signal: signal ?? null,
    });
    if (response.status < SUCCESS || response.status >= REDIRECTION)
      throw serverRefusal(response, { server, credentials, fields });
    return readJson(response.text, server);
  }

  return {
    server,
    get: (path: string, signal?: AbortSignal) => ask('GET', path, undefined, signal),
    post: (path: string, body?: unknown) => ask('POST', path, body),
    put: (path: string, body: unknown) => ask('PUT', path, body),
  };
}

interface ServerRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal | null;
}

interface ServerResponse {
  readonly status: number;
  readonly text: string;
  /** Seconds, from `Retry-After`. */
  readonly retryAfter: string | null;
  /** Whether it has the headers of every text of Tilewarden. */
  readonly ofTilewarden: boolean;
}

/** Not `fetch`, which refuses ports that browsers block, such as 10080. */
async function exchange(server: string, path: string, request: ServerRequest): Promise<ServerResponse> {
  const { method, body, signal } = request;
  const url = new URL(`${server}${path}`);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const headers = { ...request.headers, 'content-length': String(Buffer.byteLength(body)) };
  const options = { method, headers, signal: signal ? AbortSignal.any([timeout, signal]) : timeout };
  try {
    const send = url.protocol === 'https:' ? requestSecurely : requestPlainly;
    const [response] = (await once(send(url, options).end(body), 'response')) as [IncomingMessage];
    response.setEncoding('utf8');
    let text = '';
    for await (const part of response) text += part;
    return {
      status: response.statusCode ?? 0,
      text: text.trim(),
      retryAfter: response.headers['retry-after'] ?? null,
      ofTilewarden:
        response.headers['x-content-type-options'] === 'nosniff' &&
        /^(text\/plain|application\/json)\b/.test(response.headers['content-type'] ?? ''),
    };
  } catch (error) {
    throw unreachable(server, timeout.aborted ? 'no answer in time' : plainReason(error));
  }
}

function unreachable(server: string, why: string): ServerUnreachable {
  return new ServerUnreachable(
    `The server at ${server} cannot be reached: ${why}.\nIs it running? Set another address with --server or TILEWARDEN_SERVER.`,
  );
}

export function authorizationOf(credentials: Credentials): string {
  if (credentials.kind === 'token') return `Bearer ${credentials.token}`;
  const { user, password } = credentials;
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function serverRefusal(
  { status, text, retryAfter, ofTilewarden }: ServerResponse,
  { server, credentials, fields }: ClientSettings & { readonly fields: FieldFlags },
): ServerRefusal {
  if (!ofTilewarden) return new ServerRefusal(status, strange(server, status, text));
  if (status === UNAUTHORIZED) return new ServerRefusal(status, whoAreYou(credentials));
  const message = text === '' ? `The server answered ${status} without a message.` : withFlags(text, fields);
  const later = status === TOO_MANY_REQUESTS && retryAfter !== null ? `\nTry again in ${retryAfter} s.` : '';
  return new ServerRefusal(status, `${message}${later}`);
}

const MAX_SHOWN = 200;

/** Another program, or a proxy in between. Web pages are not shown. */
function strange(server: string, status: number, text: string): string {
  const shown = text === '' || text.startsWith('<') ? '.' : `: ${text.slice(0, MAX_SHOWN)}`;
  return `${server} does not answer as Tilewarden (HTTP ${status})${shown}\nIs the address right, and is a proxy in between? Set another with --server or TILEWARDEN_SERVER.`;
}

/** The text with flags in place of field names. */
function withFlags(text: string, fields: FieldFlags): string {
  return text.replace(/(?<![\w.-])\w+(?:\.\w+)*(?![\w[]|\.\w)/g, (name) =>
    Object.hasOwn(fields, name) ? `--${fields[name]}` : name,
  );
}

function whoAreYou(credentials: Credentials | null): string {
  if (credentials?.kind === 'token')
    return 'The server does not accept this token: it is wrong, revoked or expired.';
  if (credentials) return `The server does not accept this password for ${credentials.user}.`;
  return [
    'The server requires credentials. Set TILEWARDEN_USER and TILEWARDEN_PASSWORD, or TILEWARDEN_TOKEN,',
    'or --password-file: until it is changed, the password of admin is in initial-admin-password in the data folder.',
  ].join('\n');
}

function readJson(text: string, server: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`The answer from ${server} is not Tilewarden’s; is a proxy in between?`);
  }
}

/** For an unknown layer, a second request lists the existing ones. */
export async function withSuggestion(error: unknown, layer: string, client: ServerClient): Promise<unknown> {
  if (!(error instanceof ServerRefusal) || error.status !== NOT_FOUND) return error;
  const names = await layerNames(client);
  return new ServerRefusal(error.status, `${error.message}${suggestion(layer, names)}`);
}

async function layerNames(client: ServerClient): Promise<readonly string[]> {
  try {
    const list = readResponse<ApiResponse<'GET /api/v1/layers'>>(await client.get('/tiles.json'), 'layers');
    return list.layers.map(({ name }) => name);
  } catch {
    return [];
  }
}

function suggestion(name: string, names: readonly string[]): string {
  const meant = closestName(name, names);
  if (meant !== null) return ` Did you mean ${meant}?`;
  return names.length === 0 ? '' : ` There are: ${someOf(names)}.`;
}

/** A response, identified by one of its fields. */
export function readResponse<Document>(response: unknown, field: keyof Document & string): Document {
  if (typeof response === 'object' && response !== null && field in response) return response as Document;
  throw new CommandFailure('The server’s answer has an unknown form; is it another version?');
}
