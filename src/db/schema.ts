import type { Generated, Selectable } from 'kysely';

/** A text of JSON. */
type Json = string;
/** Milliseconds since 1970. */
type Time = number;
/** Milliseconds since 1970 by the clock of the database. */
type ServerTime = number;
/** A whole number that may be beyond 2^53. */
type BigCount = number | bigint;

export type RowOf<Table extends keyof Schema> = Readonly<Selectable<Schema[Table]>>;

/** All tables but those of the index of tiles, which uses plain SQL. A room adds its own here and in a migration. */
export interface Schema {
  /** Numbers that only rise. */
  counters: { name: string; value: number };
  tasks: {
    id: Generated<number>;
    /** `changeNumber` of the latest change of the row. */
    event_id: number;
    state: string;
    /** How it ended; null while it has not. */
    outcome: string | null;
    reason: string | null;
    layer: string;
    type: string;
    request: Json;
    plan: Json;
    thread_count: number;
    weight: number;
    /** 1: small enough to overtake long tasks. */
    express: number;
    /** Milliseconds of threads it has had, divided by its weight; the smallest goes next. */
    fair_time: number;
    piece_count: number;
    /** The first piece that was never leased. */
    next_piece: number;
    tiles_total: BigCount;
    tiles_processed: BigCount;
    made: BigCount;
    present: BigCount;
    removed: BigCount;
    blank: BigCount;
    failed: BigCount;
    bytes: BigCount;
    upstream_requests: BigCount;
    /** Steps that are not retried any more. */
    failures: number;
    /** JSON, the latest few. */
    error_samples: string;
    /** JSON of a `NotedWait`, the latest that a worker reported. */
    waiting: string | null;
    created_by: string;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    idempotency_key: string | null;
    /** `TaskAuthor.account`; keys are unique within it. */
    account: string | null;
    /** Digest of the request that first used the key; null: any request. */
    key_digest: string | null;
    /** Id under which an export is shown; null: not an export, or deleted or replaced. */
    export_id: string | null;
    /** The name of the file that an export has made. */
    file: string | null;
  };
  /** Pieces in flight, and pieces handed back before their end. */
  task_leases: {
    task_id: number;
    piece: number;
    /** Fencing token, from `nextToken`; the holder shows it with every report and every write. */
    token: number;
    /** Null when the piece waits for a worker. */
    owner: string | null;
    threads: number;
    /** Raised with every report: a lease whose beat does not change has lost its holder. */
    beat: number;
    done_steps: number;
    /** How often a worker died at `done_steps`. */
    crashes: number;
  };
  /** Steps that failed: waiting for another attempt, or given up. */
  task_failures: {
    id: Generated<number>;
    task_id: number;
    z: number;
    min_x: number;
    min_y: number;
    max_x: number;
    max_y: number;
    tiles: BigCount;
    attempts: number;
    /** Milliseconds since 1970; null when given up. */
    retry_at: number | null;
    /** Token of the lease that is retrying it. */
    token: number | null;
    reason: string;
    at: number;
  };
  users: {
    name: string;
    /** Derived key with its salt and cost, as `access/password-hash.ts` writes it. */
    password: string;
    role: string;
    /** JSON list of patterns. */
    layers: string;
    /** JSON list of names; null: everywhere. */
    areas: string | null;
    /** 1 while the password is the one generated at the first start. */
    password_initial: number;
    created_at: number;
    changed_at: number;
  };
  tokens: {
    id: Generated<number>;
    name: string;
    /** SHA-256 of the token, hexadecimal. */
    hash: string;
    role: string;
    /** JSON list of patterns. */
    layers: string;
    created_by: string;
    /** The external account that owns it; null: a local user, or none. */
    account: string | null;
    created_at: number;
    expires_at: number | null;
    last_used_at: number | null;
  };
  reader_keys: {
    id: Generated<number>;
    name: string;
    /** SHA-256 of the key, hexadecimal. */
    hash: string;
    /** JSON lists; `areas` null: everywhere; `origins` null: any. */
    layers: string;
    areas: string | null;
    origins: string | null;
    rate_per_second: number | null;
    requests_per_day: number | null;
    expires_at: number | null;
    created_by: string;
    created_at: number;
    last_used_at: number | null;
    /** In days since 1970, UTC. */
    used_day: number;
    /** Requests answered on that day, for a key without a daily limit. */
    used: number;
  };
  sessions: {
    /** SHA-256 of the cookie's value, hexadecimal. */
    hash: string;
    user_name: string;
    created_at: number;
    seen_at: number;
  };
  /** Sessions of external accounts. */
  oidc_sessions: Omit<Schema['sessions'], 'user_name'> & { account: string };
  /** Users of an OpenID Connect issuer or of a trusted proxy that have a session or a token here. */
  external_accounts: {
    id: Generated<number>;
    /** `externalAccount`. */
    account: string;
    /** Null: a trusted proxy. */
    issuer: string | null;
    subject: string;
    name: string;
    /** JSON: the claims that rights follow from, by path. */
    claims: string;
    /** When they were issued. */
    claims_at: Time;
  };
  /** One row. */
  quota_configuration: { id: number; document: Json };
  usage_history: { at: Time; bytes: number; tiles: number };
  /** Evictions for quotas: of a layer by hours, of all (layer '') by seconds; one row each for the distant past. */
  evictions: { layer: string; at: Time; pages: number; tiles: number; bytes: number };
  /** The values behind the parameters ids of cached tiles. */
  parameter_values: {
    id: string;
    /** JSON: values by name. */
    document: string;
    noted_at: Time;
  };
  /** Combinations of parameter values that may have stored tiles. */
  parameter_sets: { layer: string; id: string; noted_at: Time };
  /** Declarations made over HTTP, and records of layers and areas; see `catalog/catalog-entries.ts`. */
  catalog_entries: {
    kind: string;
    name: string;
    /** JSON; null: it has been removed. */
    document: string | null;
    /** From the counter `catalog`, raised with every change. */
    version: number;
    /** JSON of `PendingCleanup`; null: none. */
    drops: string | null;
    changed_by: string;
    changed_at: number;
  };
  schedules: {
    id: Generated<number>;
    layer: string;
    name: string;
    origin: string;
    document: Json;
    created_by: string;
    created_at: number;
    /** Milliseconds since 1970; null: disabled, or no further run. */
    next_due: number | null;
  };
  schedule_runs: {
    schedule_id: number;
    due_at: Time;
    at: number;
    state: string;
    task_id: number | null;
    detail: string | null;
  };
  /** Processes that share the database: servers and workers. */
  nodes: {
    /** One run of a node: a restart, or another node of the same name, has another one. */
    instance: string;
    name: string;
    /** JSON list. */
    roles: string;
    version: string;
    address: string | null;
    started_at: ServerTime;
    seen_at: number;
    /** 1 for the leading node, which does the work that only one node does. */
    leader: number;
    /** When it last applied changes, by the database's clock. 0: never. */
    applied_at: number;
    /** It has applied all changes below this number; see `completedChanges`. 0: none yet. */
    applied: number;
  };
  /** How many places of a limit a node has, how many it wants, and how many of these clients wait for. */
  node_shares: {
    name: string;
    instance: string;
    wanted: number;
    urgent: number;
    places: number;
    expires_at: ServerTime;
  };
  node_flights: { metatile: string; instance: string; expires_at: ServerTime };
  /** Outages of map servers, as the latest node has reported them. */
  host_outages: {
    /** `host:port`. */
    host: string;
    instance: string;
    /** JSON, see `sources/upstream/open-upstream-limiter.ts`. */
    outage: string;
    /** Milliseconds since 1970 by the database's clock; invalid after that. */
    until: number;
  };
  /** Map servers that operators have paused, by `host:port`. */
  host_pauses: { host: string; paused_by: string; paused_at: ServerTime };
  audit_entries: {
    id: Generated<number>;
    at: Time;
    /** JSON, with a newline at its end. */
    line: string;
    /** Empty: anonymous. */
    account: string;
    /** 1 for changes of accounts, keys, layers, grid sets and the quota. */
    administrative: number;
  };
  /** See `lib/budget.ts`; times by the clock of the database. */
  budgets: {
    scope: string;
    name: string;
    used: number;
    at: ServerTime;
    pauses: number;
    paused_until: ServerTime;
    ends_at: ServerTime;
  };
  /** How each feed of data changes is doing. Counts only rise. */
  change_feeds: {
    name: string;
    state: string;
    last_at: number | null;
    last_error: string | null;
    received: number;
    applied: number;
    pending: number;
    /** Time of the newest entry that was applied. */
    newest: number | null;
  };
  /** Accepted changes of the last day. */
  changes: {
    id: Generated<number>;
    feed: string;
    at: Time;
    /** Id from the sender. */
    event_id: string | null;
    /** How many changes were merged into it. */
    merged: number;
    /** JSON list of names. */
    layers: string;
    /** JSON: boxes in WGS 84; null: the whole layers. */
    boxes: string | null;
  };
  /** Entries of feeds that were applied. */
  change_entries: { feed: string; id: string; at: Time; seen_at: Time };
  /** Layers that a follow keeps in step with a map server; see `changes/follow/plan-pass.ts`. */
  followed_layers: {
    follow: string;
    /** Its name here. */
    layer: string;
    state: string;
    /** Digest of the document. */
    digest: string;
    /** JSON: the server's document as it was last applied. */
    document: string;
    /** JSON: digests by style; null: not read yet. */
    drawing: string | null;
  };
  /** The latest pass of each follow. */
  follow_marks: {
    follow: string;
    last_at: Time;
    sequence: string | null;
    whole_at: Time;
    pending: number;
  };
  /** Reports of passes that changed something. */
  follow_passes: { id: Generated<number>; follow: string; at: Time; report: string };
  /** Requests to other programs, waiting or done. */
  deliveries: {
    /** Rises: the order in which they came. */
    number: Generated<number>;
    /** Random, the same in every repeat. */
    id: string;
    kind: string;
    name: string;
    state: string;
    payload: Json;
    /** Rises whenever the payload changes: an attempt that sent a former one does not end it. */
    revision: number;
    attempts: number;
    last_error: string | null;
    at: ServerTime;
    /** No attempt begins before this time. Of a delivery that is over: when it ended. */
    next_at: ServerTime;
    /** It is given up after this time. */
    until: ServerTime;
  };
  /** Subjects of sent notifications that have not recovered yet: each transition is reported once. */
  reported_states: { subject: string; at: ServerTime };
}
