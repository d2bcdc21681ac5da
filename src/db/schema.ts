import type { Generated, Selectable } from 'kysely';

/** Its type in PostgreSQL, from which that in SQLite follows, and that of its values. */
interface Column<Value> {
  readonly sql: string;
  readonly value?: Value;
}

const column = <Value>(sql: string): Column<Value> => ({ sql });
const columns = <Value, Name extends string>(type: Column<Value>, ...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, type])) as Record<Name, Column<Value>>;

const text = column<string>('text not null');
const optionalText = column<string | null>('text');
const textKey = column<string>('text primary key');
const uniqueText = column<string>('text not null unique');
/** A text of JSON. */
const json = text;
const whole = column<number>('bigint not null');
const optionalWhole = column<number | null>('bigint');
const wholeKey = column<number>('bigint primary key');
/** A whole number that may be beyond 2^53. */
const bigCount = column<number | bigint>('bigint not null');
const real = column<number>('double precision not null');
/** Rises with every row and is never given out twice. */
const risingId = column<Generated<number>>('bigint generated always as identity primary key');
/** Milliseconds since 1970. */
const time = whole;
const optionalTime = optionalWhole;
/** Milliseconds since 1970 by the clock of the database. */
const serverTime = whole;
const belongsToTask = column<number>('bigint not null references tasks (id) on delete cascade');

/**
 * All tables but those of the index of tiles, which uses plain SQL. The first migration creates them as they are here.
 * After the release of 0.3.0 it may not change: a table or column of a later migration must be left out of it.
 */
export const tables = {
  /** Numbers that only rise. */
  counters: { name: textKey, value: whole },
  tasks: {
    id: risingId,
    ...columns(text, 'state', 'layer', 'type'),
    ...columns(json, 'request', 'plan'),
    /** JSON, the latest few. */
    error_samples: json,
    created_by: text,
    /** How it ended; null while it has not. */
    outcome: optionalText,
    reason: optionalText,
    /** JSON of a `NotedWait`, the latest that a worker reported. */
    waiting: optionalText,
    idempotency_key: optionalText,
    /** `TaskAuthor.account`; keys are unique within it. */
    account: optionalText,
    /** Digest of the request that first used the key; null: any request. */
    key_digest: optionalText,
    /** Id under which an export is shown; null: not an export, or deleted or replaced. */
    export_id: optionalText,
    /** The name of the file that an export has made. */
    file: optionalText,
    weight: real,
    /** Milliseconds of threads it has had, divided by its weight; the smallest goes next. */
    fair_time: real,
    /** `changeNumber` of the latest change of the row. */
    event_id: whole,
    thread_count: whole,
    /** 1: small enough to overtake long tasks. */
    express: whole,
    piece_count: whole,
    /** The first piece that was never leased. */
    next_piece: whole,
    ...columns(bigCount, 'tiles_total', 'tiles_processed', 'made', 'present', 'removed', 'blank', 'failed'),
    ...columns(bigCount, 'bytes', 'upstream_requests'),
    /** Steps that are not retried any more. */
    failures: whole,
    created_at: time,
    ...columns(optionalTime, 'started_at', 'ended_at'),
  },
  /** Pieces in flight, and pieces handed back before their end. */
  task_leases: {
    task_id: belongsToTask,
    /** Null when the piece waits for a worker. */
    owner: optionalText,
    piece: whole,
    /** Fencing token, from `nextToken`; the holder shows it with every report and every write. */
    token: whole,
    threads: whole,
    /** Raised with every report: a lease whose beat does not change has lost its holder. */
    beat: whole,
    done_steps: whole,
    /** How often a worker died at `done_steps`. */
    crashes: whole,
  },
  /** Steps that failed: waiting for another attempt, or given up. */
  task_failures: {
    task_id: belongsToTask,
    id: risingId,
    reason: text,
    ...columns(whole, 'z', 'min_x', 'min_y', 'max_x', 'max_y'),
    tiles: bigCount,
    attempts: whole,
    at: time,
    /** Null when given up. */
    retry_at: optionalTime,
    /** Token of the lease that is retrying it. */
    token: optionalWhole,
  },
  users: {
    name: textKey,
    /** Derived key with its salt and cost, as `access/password-hash.ts` writes it. */
    password: text,
    role: text,
    /** JSON list of patterns. */
    layers: json,
    /** JSON list of names; null: everywhere. */
    areas: optionalText,
    /** 1 while the password is the one generated at the first start. */
    password_initial: whole,
    ...columns(time, 'created_at', 'changed_at'),
  },
  tokens: {
    id: risingId,
    name: text,
    /** SHA-256 of the token, hexadecimal. */
    hash: text,
    role: text,
    /** JSON list of patterns. */
    layers: json,
    created_by: text,
    /** The external account that owns it; null: a local user, or none. */
    account: optionalText,
    created_at: time,
    ...columns(optionalTime, 'expires_at', 'last_used_at'),
  },
  sessions: {
    /** SHA-256 of the cookie's value, hexadecimal. */
    hash: textKey,
    user_name: column<string>('text not null references users (name) on delete cascade'),
    ...columns(time, 'created_at', 'seen_at'),
  },
  /** Sessions of external accounts. */
  oidc_sessions: { hash: textKey, account: text, ...columns(time, 'created_at', 'seen_at') },
  /** Users of an OpenID Connect issuer or of a trusted proxy that have a session or a token here. */
  external_accounts: {
    id: risingId,
    /** `externalAccount`. */
    account: uniqueText,
    /** Null: a trusted proxy. */
    issuer: optionalText,
    ...columns(text, 'subject', 'name'),
    /** The claims that rights follow from, by path. */
    claims: json,
    /** When they were issued. */
    claims_at: time,
  },
  reader_keys: {
    id: risingId,
    name: text,
    /** SHA-256 of the key, hexadecimal. */
    hash: text,
    layers: json,
    created_by: text,
    /** JSON lists; `areas` null: everywhere; `origins` null: any. */
    ...columns(optionalText, 'areas', 'origins'),
    ...columns(optionalWhole, 'rate_per_second', 'requests_per_day'),
    ...columns(optionalTime, 'expires_at', 'last_used_at'),
    created_at: time,
    /** In days since 1970, UTC. */
    used_day: whole,
    /** Requests answered on that day, for a key without a daily limit. */
    used: whole,
  },
  /** One row. */
  quota_configuration: { id: wholeKey, document: json },
  usage_history: { at: wholeKey, ...columns(whole, 'bytes', 'tiles') },
  /** Evictions for quotas: of a layer by hours, of all (layer '') by seconds; one row each for the distant past. */
  evictions: { layer: text, at: time, ...columns(whole, 'pages', 'tiles', 'bytes') },
  schedules: {
    id: risingId,
    ...columns(text, 'layer', 'name', 'origin'),
    document: json,
    created_by: text,
    created_at: time,
    /** Null: disabled, or no further run. */
    next_due: optionalTime,
  },
  schedule_runs: {
    schedule_id: whole,
    ...columns(time, 'due_at', 'at'),
    state: text,
    task_id: optionalWhole,
    detail: optionalText,
  },
  /** The values behind the parameters ids of cached tiles, as JSON: values by name. */
  parameter_values: { id: textKey, document: json, noted_at: time },
  /** Combinations of parameter values that may have stored tiles. */
  parameter_sets: { ...columns(text, 'layer', 'id'), noted_at: time },
  /** Declarations made over HTTP, and records of layers and areas; see `catalog/catalog-entries.ts`. */
  catalog_entries: {
    ...columns(text, 'kind', 'name'),
    /** JSON; null: it has been removed. */
    document: optionalText,
    /** From the counter `catalog`, raised with every change. */
    version: whole,
    /** JSON of `PendingCleanup`; null: none. */
    drops: optionalText,
    changed_by: text,
    changed_at: time,
  },
  /** Processes that share the database: servers and workers. */
  nodes: {
    /** One run of a node: a restart, or another node of the same name, has another one. */
    instance: textKey,
    address: optionalText,
    name: text,
    /** JSON list. */
    roles: json,
    version: text,
    ...columns(serverTime, 'started_at', 'seen_at'),
    /** 1 for the leading node, which does the work that only one node does. */
    leader: whole,
    /** When it last applied changes, by the database's clock. 0: never. */
    applied_at: serverTime,
    /** It has applied all changes below this number; see `completedChanges`. 0: none yet. */
    applied: whole,
  },
  /** How many places of a limit a node has, how many it wants, and how many of these clients wait for. */
  node_shares: {
    ...columns(text, 'name', 'instance'),
    ...columns(whole, 'wanted', 'urgent', 'places'),
    expires_at: serverTime,
  },
  node_flights: { metatile: textKey, instance: text, expires_at: serverTime },
  /** Outages of map servers, as the latest node has reported them. */
  host_outages: {
    /** `host:port`. */
    host: textKey,
    instance: text,
    /** See `sources/upstream/open-upstream-limiter.ts`. */
    outage: json,
    /** Invalid after that. */
    until: serverTime,
  },
  /** Map servers that operators have paused, by `host:port`. */
  host_pauses: { host: textKey, paused_by: text, paused_at: serverTime },
  audit_entries: {
    id: risingId,
    at: time,
    /** 1 for changes of accounts, keys, layers, grid sets and the quota. */
    administrative: whole,
    /** JSON, with a newline at its end. */
    line: text,
    /** Empty: anonymous. */
    account: text,
  },
  /** See `lib/budget.ts`; times by the clock of the database. */
  budgets: {
    ...columns(text, 'scope', 'name'),
    ...columns(real, 'used', 'at', 'paused_until', 'ends_at'),
    pauses: whole,
  },
  /** How each feed of data changes is doing. Counts only rise. */
  change_feeds: {
    name: textKey,
    state: text,
    last_at: optionalTime,
    last_error: optionalText,
    /** Time of the newest entry that was applied. */
    newest: optionalTime,
    ...columns(whole, 'received', 'applied', 'pending'),
  },
  /** Accepted changes of the last day. */
  changes: {
    id: risingId,
    feed: text,
    /** JSON list of names. */
    layers: json,
    at: time,
    /** How many changes were merged into it. */
    merged: whole,
    /** Id from the sender. */
    event_id: optionalText,
    /** JSON: boxes in WGS 84; null: the whole layers. */
    boxes: optionalText,
  },
  /** Entries of feeds that were applied. */
  change_entries: { ...columns(text, 'feed', 'id'), ...columns(time, 'at', 'seen_at') },
  /** Layers that a follow keeps in step with a map server; see `changes/follow/plan-pass.ts`. */
  followed_layers: {
    follow: text,
    /** Its name here. */
    layer: text,
    state: text,
    /** Digest of the document. */
    digest: text,
    /** The server's document as it was last applied. */
    document: json,
    /** JSON: digests by style; null: not read yet. */
    drawing: optionalText,
  },
  /** The latest pass of each follow. */
  follow_marks: {
    follow: textKey,
    sequence: optionalText,
    ...columns(time, 'last_at', 'whole_at'),
    pending: whole,
  },
  /** Reports of passes that changed something. */
  follow_passes: { id: risingId, ...columns(text, 'follow', 'report'), at: time },
  /** Requests to other programs, waiting or done. */
  deliveries: {
    /** Rises: the order in which they came. */
    number: risingId,
    /** Random, the same in every repeat. */
    id: uniqueText,
    ...columns(text, 'kind', 'name', 'state'),
    payload: json,
    /** Rises whenever the payload changes: an attempt that sent a former one does not end it. */
    revision: column<number>('integer not null'),
    attempts: column<number>('integer not null'),
    last_error: optionalText,
    at: serverTime,
    /** No attempt begins before this time. Of a delivery that is over: when it ended. */
    next_at: serverTime,
    /** It is given up after this time. */
    until: serverTime,
  },
  /** Subjects of sent notifications that have not recovered yet: each transition is reported once. */
  reported_states: { subject: textKey, at: serverTime },
};

type Values<Columns> = {
  [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never;
};

/** A later migration adds its columns and tables to this type, not to `tables`: released migrations do not change. */
export type Schema = { [Table in keyof typeof tables]: Values<(typeof tables)[Table]> };

export type RowOf<Table extends keyof Schema> = Readonly<Selectable<Schema[Table]>>;
