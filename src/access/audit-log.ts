import { join } from 'node:path';
import type { Database, Statements } from '../db/database.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import { inBatches } from '../lib/in-batches.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { writeJson } from '../lib/write-json.ts';
import { type AuditLine, createAuditTable } from './audit-table.ts';
import type { Via } from './caller.ts';

const MAX_LINE = 64 * 1024;
const NOTES_PER_MINUTE = 120;
const MINUTE_MS = 60_000;

export type AuditLog = ReturnType<typeof openAuditLog>;

export function openAuditLog({
  database,
  dataFolder,
  clock,
  log,
}: Env & { readonly database: Database; readonly dataFolder: string }) {
  const isLocal = database.dialect === 'sqlite';
  const reserve = isLocal ? join(dataFolder, 'audit.log.reserve') : null;
  const lines = createAuditTable(database, clock, reserve);
  const notes = { since: clock.monotonic(), count: 0, leftOut: 0 };
  const prepared = lines.reserveSpace();
  /** Entries that arrive during a write are written together after it. */
  const writes = inBatches(async (batch: readonly AuditLine[]) => {
    await prepared;
    await lines.append(batch);
    return batch;
  });
  const put = (draft: AuditDraft) => writes.add(auditLine(draft, clock.now()));

  function withinLimit(): boolean {
    const now = clock.monotonic();
    if (now - notes.since >= MINUTE_MS) Object.assign(notes, { since: now, count: 0 });
    notes.count += 1;
    if (notes.count <= NOTES_PER_MINUTE) return true;
    notes.leftOut += 1;
    return false;
  }

  return {
    /** Resolves when the entry is durable. Throws `audit-unwritable`: then the change must not be made. */
    async record(draft: AuditDraft): Promise<void> {
      try {
        await put(draft);
      } catch (cause) {
        log.error({ err: cause }, 'the audit log cannot be written; changes are refused');
        throw new TilewardenError(
          'audit-unwritable',
          'The audit log cannot be written, so nothing may be changed now.',
          { cause },
        );
      }
    },

    /** Within the transaction of the change: either both are stored, or neither. */
    recordWith: (query: Statements, draft: AuditDraft) =>
      lines.appendWith(query, auditLine(draft, clock.now())),

    /**
     * For refusals, such as failed logins: no caller waits for the entry, and beyond `NOTES_PER_MINUTE` they are only
     * counted, so that no client can flood the log.
     */
    note(draft: AuditDraft): void {
      if (!withinLimit()) return;
      const { leftOut } = notes;
      notes.leftOut = 0;
      const after = leftOut > 0 ? { leftOutBefore: leftOut } : draft.after;
      put({ ...draft, after }).catch((error: unknown) => {
        log.warn({ err: error }, 'the audit log cannot be written');
      });
    },

    /** Newest first, with all that was recorded or noted before the call. */
    async read(filter: AuditFilter): Promise<readonly AuditEntry[]> {
      await writes.idle();
      return await latestFitting(lines.latestFirst(), filter);
    },

    async close(): Promise<void> {
      await prepared;
      await writes.idle();
    },
  };
}

function auditLine({ administrative = false, ...draft }: AuditDraft, now: number): AuditLine {
  const entry = auditEntry(draft, now);
  return { line: lineOf(entry), account: entry.account, administrative };
}

function lineOf(entry: AuditEntry): string {
  const line = `${writeJson(entry)}\n`;
  if (line.length <= MAX_LINE) return line;
  return `${writeJson({ ...entry, before: 'too long', after: 'too long' })}\n`;
}

export interface AuditEntry {
  /** ISO 8601. */
  readonly time: string;
  /** Id of the request, as in the server's log. */
  readonly id: string | null;
  /**
   * A change is logged twice: before anything is done (`begun`), and with its outcome before the response (`ended`). A
   * `begun` without an `ended` is in progress, or was cut short by a crash.
   */
  readonly phase: 'begun' | 'ended';
  /** A user, `token:NAME`, `console:NAME` (command line), `feed:NAME` or `follow:NAME` (the server itself); null: anonymous. */
  readonly actor: string | null;
  /** The actor's account (`accountOf`), as names are not unique. Null: anonymous, or an entry of an earlier version. */
  readonly account: string | null;
  /** How the actor was authenticated; null: not at all. */
  readonly via: Via | null;
  /** Network address. */
  readonly source: string | null;
  /** Method and route, e.g. `POST /rest/seed/{layer}.json`, or `login`. */
  readonly action: string;
  /** Path of the request, without the query. */
  readonly path: string | null;
  /** The changed object, e.g. `user:mary`. */
  readonly target: string | null;
  /** In words, e.g. `started a seed of roads`; null: see the action. */
  readonly summary: string | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly outcome: 'done' | 'refused' | 'failed' | null;
  readonly status: number | null;
}

export type AuditDraft = Pick<AuditEntry, 'phase' | 'action'> &
  Partial<Omit<AuditEntry, 'time'>> & {
    /** A change of accounts, keys, layers, grid sets or the quota: other entries cannot push it out of the log. */
    readonly administrative?: boolean;
  };

function auditEntry(draft: Omit<AuditDraft, 'administrative'>, now: number): AuditEntry {
  const { phase, action, ...fields } = draft;
  return {
    time: new Date(now).toISOString(),
    id: null,
    phase,
    actor: null,
    account: null,
    via: null,
    source: null,
    action,
    path: null,
    target: null,
    summary: null,
    before: null,
    after: null,
    outcome: null,
    status: null,
    ...omitUndefined(fields),
  };
}

/** Null for an invalid line. */
function readAuditLine(line: string): AuditEntry | null {
  try {
    const entry: unknown = JSON.parse(line);
    const whole = typeof entry === 'object' && entry !== null && 'time' in entry && 'action' in entry;
    // Entries of earlier versions have no summary and no account.
    return whole ? ({ summary: null, account: null, ...entry } as AuditEntry) : null;
  } catch {
    return null;
  }
}

export interface AuditFilter {
  readonly id?: string;
  readonly actor?: string;
  readonly account?: string;
  readonly source?: string;
  /** Part of the action or of the path, e.g. `masstruncate`. */
  readonly text?: string;
  readonly target?: string;
  readonly outcome?: string;
  /** Milliseconds since 1970, inclusive. */
  readonly since?: number;
  /** Milliseconds since 1970, exclusive. */
  readonly until?: number;
  readonly limit: number;
}

/** The latest entries that match. The start of a change is shown only if its end is missing. */
async function latestFitting(
  lines: AsyncIterable<string>,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = [];
  const ended = new Set<string>();
  for await (const line of lines) {
    const entry = readAuditLine(line);
    if (!entry) continue;
    const { id, phase } = entry;
    if (id !== null && phase === 'ended') ended.add(id);
    // The end has the same id, and is read first: the newest lines come first.
    if (id !== null && phase === 'begun' && ended.delete(id)) continue;
    if (fits(entry, filter)) entries.push(entry);
    if (entries.length >= filter.limit) break;
  }
  return entries;
}

const COMPARED = ['id', 'actor', 'account', 'source', 'target'] as const;

function fits(entry: AuditEntry, filter: AuditFilter): boolean {
  const { text, outcome, since, until } = filter;
  const time = Date.parse(entry.time);
  return (
    COMPARED.every((name) => filter[name] === undefined || filter[name] === entry[name]) &&
    (outcome === undefined || (entry.outcome ?? 'unknown') === outcome) &&
    (text === undefined || `${entry.action} ${entry.path ?? ''}`.includes(text)) &&
    (since === undefined || time >= since) &&
    (until === undefined || time < until)
  );
}
