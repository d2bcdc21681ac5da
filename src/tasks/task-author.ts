import { createHash } from 'node:crypto';

export interface TaskAuthor {
  /** As it is shown. */
  readonly name: string;
  /** Never that of another author. Idempotency keys belong to it. */
  readonly account: string;
  /** Whether it may use up the limit that all share. */
  readonly unlimited: boolean;
}

/** Their keys cannot be made by a caller: accounts begin with `user:` or `token:`. */
export function scheduleAuthor(schedule: string): TaskAuthor {
  return { name: `schedule ${schedule}`, account: 'schedule', unlimited: true };
}

/** One task for each key of an author. */
export interface TaskKey {
  readonly text: string;
  /** Of the request; null: whatever the request is. */
  readonly digest: string | null;
}

/** `request`: as the caller has sent it, not as it was planned, which changes with the layer. */
export function keyForRequest(text: string, request: object): TaskKey {
  return { text, digest: createHash('sha256').update(canonical(request)).digest('hex') };
}

/** JSON that does not depend on the order of fields. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    const fields = part instanceof Map ? Object.fromEntries(part) : part;
    if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) return fields;
    return Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

export function shareOf(author: TaskAuthor, max: number): number {
  return author.unlimited ? max : Math.max(1, Math.floor(max / 2));
}
