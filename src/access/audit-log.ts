import type { Database } from '../db/database.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { writeJson } from '../lib/write-json.ts';
import {
  type AuditDraft,
  type AuditEntry,
  AuditFile,
  type AuditFilter,
  auditEntry,
  readAuditFiles,
} from './audit-file.ts';
import { createAuditTable } from './audit-table.ts';

export interface AuditLogOptions extends Surroundings {
  readonly path: string;
  /** A database that several nodes share: their log is there, and not in a file. */
  readonly shared?: Database | null;
  readonly maxBytes?: number;
  readonly keep?: number;
}

interface Pending {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const MAX_BYTES = 16 * 1024 * 1024;
const KEEP = 8;
const MAX_LINE = 64 * 1024;
const NOTES_PER_MINUTE = 120;
const MINUTE_MS = 60_000;

export type AuditLog = ReturnType<typeof openAuditLog>;

export function openAuditLog({
  path,
  shared = null,
  clock,
  log,
  maxBytes = MAX_BYTES,
  keep = KEEP,
}: AuditLogOptions) {
  const file = new AuditFile({ path, maxBytes, keep });
  const table = shared && createAuditTable(shared);
  const append = (lines: readonly string[]) =>
    table ? table.append(lines, clock.now()) : file.append(lines.join(''));
  const notes = { since: clock.monotonic(), count: 0, leftOut: 0 };
  let waiting: Pending[] = [];
  let writing: Promise<void> | null = file.reserve().then(writeAll);

  /** Entries that wait while one is written go to the disk together. */
  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await append(batch.map(({ line }) => line)).then(
        () => settle(batch, ({ resolve }) => resolve()),
        (error: unknown) => settle(batch, ({ reject }) => reject(error)),
      );
    }
    writing = null;
  }

  function put(entry: AuditEntry): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      waiting.push({ line: lineOf(entry), resolve, reject });
    });
    writing ??= writeAll();
    return written;
  }

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
        await put(auditEntry(draft, clock.now()));
      } catch (cause) {
        log.error({ err: cause }, 'The audit log cannot be written; changes are refused');
        throw new TilewardenError(
          'audit-unwritable',
          'The audit log cannot be written, so nothing may be changed now.',
          { cause },
        );
      }
    },

    /**
     * For what strangers cause, such as failed logins: nobody waits for it, and beyond a few a second they are only
     * counted, so that nobody can drive the changes of administrators out of the log.
     */
    note(draft: AuditDraft): void {
      if (!withinLimit()) return;
      const { leftOut } = notes;
      notes.leftOut = 0;
      const after = leftOut > 0 ? { leftOutBefore: leftOut } : draft.after;
      put(auditEntry({ ...draft, after }, clock.now())).catch((error: unknown) => {
        log.warn({ err: error }, 'The audit log cannot be written');
      });
    },

    /** Newest first, with all that was recorded or noted before the call. */
    async read(filter: AuditFilter): Promise<readonly AuditEntry[]> {
      await writing;
      return table ? table.read(filter) : readAuditFiles(path, keep, filter);
    },

    /** Writes what is waiting. */
    async close(): Promise<void> {
      await writing;
      await file.close();
    },
  };
}

function settle(batch: readonly Pending[], end: (pending: Pending) => void): void {
  for (const pending of batch) end(pending);
}

function lineOf(entry: AuditEntry): string {
  const line = `${writeJson(entry)}\n`;
  if (line.length <= MAX_LINE) return line;
  return `${writeJson({ ...entry, before: 'too long', after: 'too long' })}\n`;
}
