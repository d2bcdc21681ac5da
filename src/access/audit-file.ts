import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { hasCode } from '../lib/error-code.ts';
import { withoutAbsent } from '../lib/without-absent.ts';

interface AuditFileOptions {
  readonly path: string;
  /** Bytes after which a new file is begun. */
  readonly maxBytes: number;
  /** How many full files are kept beside the current one, as `.1` (the latest), `.2` and so on. */
  readonly keep: number;
}

const OWNER_AND_GROUP = 0o640;
const NEWLINE = 0x0a;
/** Enough for some hundred changes. */
const RESERVED_BYTES = 256 * 1024;

/** The file at the end of which lines are put. One caller at a time. */
export class AuditFile {
  readonly #options: AuditFileOptions;
  #handle: FileHandle | null = null;
  #reserved = false;

  constructor(options: AuditFileOptions) {
    this.#options = options;
  }

  /** Resolves when the text is on the disk. A full disk gets back the room that was kept for this. */
  async append(text: string): Promise<void> {
    try {
      await this.#write(text);
      await this.reserve();
    } catch (error) {
      await this.close();
      if (!hasCode(error, 'ENOSPC', 'EDQUOT') || !(await this.#giveUpReserve())) throw error;
      await this.#write(text);
    }
  }

  async #write(text: string): Promise<void> {
    const handle = await this.#current();
    await handle.appendFile(text);
    await handle.datasync();
  }

  /** Takes room ahead, if there is some: who truncates a layer because the disk is full is to find the log writable. */
  async reserve(): Promise<void> {
    if (this.#reserved) return;
    const room = Buffer.alloc(RESERVED_BYTES, '\n');
    const taken = writeFile(this.#reserve, room, { mode: OWNER_AND_GROUP }).then(() => true);
    this.#reserved = await taken.catch(() => false);
  }

  /** False when there is none. */
  async #giveUpReserve(): Promise<boolean> {
    this.#reserved = false;
    const given = await rm(this.#reserve).then(() => true, ignoreAbsence);
    return given !== null;
  }

  get #reserve(): string {
    return `${this.#options.path}.reserve`;
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }

  async #current(): Promise<FileHandle> {
    if (this.#handle && !(await this.#isInPlace(this.#handle))) await this.close();
    this.#handle ??= await openForAppending(this.#options.path);
    if ((await this.#handle.stat()).size < this.#options.maxBytes) return this.#handle;
    await this.close();
    await this.#shift();
    this.#handle = await openForAppending(this.#options.path);
    return this.#handle;
  }

  /** Somebody else may have moved the file away, to keep it elsewhere. */
  async #isInPlace(handle: FileHandle): Promise<boolean> {
    const there = await stat(this.#options.path).catch(ignoreAbsence);
    const here = await handle.stat();
    return there !== null && there.ino === here.ino && there.dev === here.dev;
  }

  async #shift(): Promise<void> {
    const { path, keep } = this.#options;
    for (let number = keep; number > 1; number--) {
      await rename(`${path}.${number - 1}`, `${path}.${number}`).catch(ignoreAbsence);
    }
    await rename(path, `${path}.1`);
  }
}

async function openForAppending(path: string): Promise<FileHandle> {
  const handle = await open(path, 'a+', OWNER_AND_GROUP);
  try {
    await endTornLine(handle);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** What a crash or a full disk has cut off stays behind as a line of its own. */
async function endTornLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  if (size === 0) return;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (bytesRead === 1 && buffer[0] !== NEWLINE) await handle.appendFile('\n');
}

function ignoreAbsence(error: unknown): null {
  if (hasCode(error, 'ENOENT')) return null;
  throw error;
}

export interface AuditFilter {
  readonly actor?: string;
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

/** The latest entries that fit, newest first. Begun changes are shown only where their end is missing. */
export async function readAuditFiles(
  path: string,
  keep: number,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  const endedLater = new Set<string>();
  for (let number = 0; number <= keep && found.length < filter.limit; number++) {
    const file = number === 0 ? path : `${path}.${number}`;
    const latest = await readFile(file, filter, endedLater);
    found.push(...latest.reverse().slice(0, filter.limit - found.length));
  }
  return found;
}

/** Oldest first; at most as many as were asked for, the latest. */
async function readFile(file: string, filter: AuditFilter, endedLater: Set<string>): Promise<AuditEntry[]> {
  const begun = new Map<string, AuditEntry>();
  let ended: AuditEntry[] = [];
  for await (const entry of entriesOf(file)) {
    const { id, phase } = entry;
    if (phase === 'begun' && id !== null) {
      if (!endedLater.has(id)) begun.set(id, entry);
      continue;
    }
    if (id !== null && !begun.delete(id)) endedLater.add(id);
    if (fits(entry, filter)) ended.push(entry);
    if (ended.length > 2 * filter.limit) ended = ended.slice(-filter.limit);
  }
  const cutShort = [...begun.values()].filter((entry) => fits(entry, filter));
  return [...ended, ...cutShort].sort(byTime).slice(-filter.limit);
}

async function* entriesOf(file: string): AsyncGenerator<AuditEntry> {
  const lines = createInterface({
    input: createReadStream(file, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  try {
    for await (const line of lines) {
      const entry = readAuditLine(line);
      if (entry) yield entry;
    }
  } catch (error) {
    ignoreAbsence(error);
  }
}

/** Whether the entry is one of those that were asked for. */
export function fits(
  entry: AuditEntry,
  { actor, source, text, target, outcome, since, until }: AuditFilter,
): boolean {
  const time = Date.parse(entry.time);
  return (
    (actor === undefined || entry.actor === actor) &&
    (source === undefined || entry.source === source) &&
    (target === undefined || entry.target === target) &&
    (outcome === undefined || (entry.outcome ?? 'unknown') === outcome) &&
    (text === undefined || `${entry.action} ${entry.path ?? ''}`.includes(text)) &&
    (since === undefined || time >= since) &&
    (until === undefined || time < until)
  );
}

function byTime(one: AuditEntry, other: AuditEntry): number {
  return one.time < other.time ? -1 : Number(one.time > other.time);
}

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
  const { phase, action, ...told } = draft;
  return {
    time: new Date(now).toISOString(),
    id: null,
    phase,
    actor: null,
    source: null,
    action,
    path: null,
    target: null,
    before: null,
    after: null,
    outcome: null,
    status: null,
    ...withoutAbsent(told),
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
