/** A line of the audit log. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly time: string;
  /** Of the request; the log of the server knows it by the same name. */
  readonly id: string | null;
  /**
   * A change is written down twice: before anything is done (`begun`), and with its outcome before it is answered
   * (`ended`). One that was begun and never ended was cut short by a crash.
   */
  readonly phase: 'begun' | 'ended';
  /** A user, `token:NAME`, or `console:NAME` for somebody at the command line; null: a stranger. */
  readonly actor: string | null;
  /** Network address. */
  readonly source: string | null;
  /** Method and route, e.g. `POST /rest/seed/{layer}.json`, or `login`. */
  readonly action: string;
  /** As it came, without the query. */
  readonly path: string | null;
  /** What was changed, e.g. `user:mary`. */
  readonly target: string | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly outcome: 'done' | 'refused' | 'failed' | null;
  /** Of the answer. */
  readonly status: number | null;
}

export type AuditDraft = Pick<AuditEntry, 'phase' | 'action'> & Partial<Omit<AuditEntry, 'time'>>;

export function auditEntry(draft: AuditDraft, now: number): AuditEntry {
  return {
    time: new Date(now).toISOString(),
    id: draft.id ?? null,
    phase: draft.phase,
    actor: draft.actor ?? null,
    source: draft.source ?? null,
    action: draft.action,
    path: draft.path ?? null,
    target: draft.target ?? null,
    before: draft.before ?? null,
    after: draft.after ?? null,
    outcome: draft.outcome ?? null,
    status: draft.status ?? null,
  };
}

/** Null for a line that a crash has torn. */
export function readAuditLine(line: string): AuditEntry | null {
  try {
    const entry: unknown = JSON.parse(line);
    const whole = typeof entry === 'object' && entry !== null && 'time' in entry && 'action' in entry;
    return whole ? (entry as AuditEntry) : null;
  } catch {
    return null;
  }
}
