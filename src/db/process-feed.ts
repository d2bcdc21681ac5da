/**
 * What the processes of one server announce to each other: a small SQLite file in the data folder, `processes.db`.
 *
 * | a process | the others |
 * | --- | --- |
 * | posts a notice, and acknowledges its change when the notice is committed | read notices before they show a copy: nothing older is shown |
 * | asks with a notice | have handled it, and all earlier ones, when the question resolves |
 * | dies | its parent removes it, and posts that; no other process waits for it |
 *
 * Notices are numbered, read in order, and not lost while a process is open. The file is new at each start of the
 * server.
 */
import { type FSWatcher, watch } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import BetterSqlite3 from 'better-sqlite3';
import { createDeferred, type Deferred } from '../lib/deferred.ts';
import type { Env } from '../lib/env.ts';
import { errorCode, isNoRoom, UnavailableError } from '../lib/error-code.ts';
import { repeat } from '../lib/repeat.ts';

type Listener = (body: unknown) => void | Promise<void>;

export interface ProcessFeedOptions extends Env {
  readonly data: string;
  /** Names this process. */
  readonly instance: string;
  /** A process has not handled a notice in time. */
  readonly onSilent: (pid: number) => void;
}

interface Notice {
  readonly number: number;
  readonly instance: string;
  readonly channel: string;
  readonly body: Buffer;
  /** 1: the sender waits until all processes have handled it. */
  readonly asks: number;
}

interface Question {
  readonly number: number;
  readonly answered: Deferred<void>;
}

/** A figure that a process has published under a name. `live`: the process is running. */
export interface Published {
  readonly live: boolean;
  readonly body: unknown;
}

const FILE = 'processes.db';
/** Milliseconds that SQLite waits for a write of another process, between attempts, and for all attempts together. */
const BUSY_TIMEOUT_MS = 100;
const RETRY_MS = 20;
const WRITE_TIMEOUT_MS = 10_000;
/** Milliseconds between polls: notifications of the file system may be missing. */
const POLL_MS = 50;
/** Milliseconds until a process that has not handled a notice is killed, and for which its end is awaited. */
const SILENT_MS = 10_000;
const END_MS = 5000;
/** Notices that stay readable, and figures of ended processes that are kept. */
const KEPT_NOTICES = 20_000;
const KEPT_FORMER = 64;
/** The channel that reports that notices were deleted before this process read them. */
export const MISSED = 'missed';
/** The channel on which the parent reports a process that ended without leaving the feed. */
export const GONE = 'gone';

export interface GoneProcess {
  readonly instance: string;
  /** Its parent did not want it to end. */
  readonly crashed: boolean;
}

const TABLES = `
  create table notices (number integer primary key autoincrement, instance text, channel text, body blob, asks integer);
  create table processes (instance text primary key, pid integer, answered integer);
  create table published (instance text primary key, live integer, body blob);`;

/** For the parent of the processes, before it starts them. */
export async function createProcessFeed(data: string, env: Env) {
  const path = join(data, FILE);
  for (const suffix of ['', '-wal', '-shm']) await rm(`${path}${suffix}`, { force: true });
  const database = connect(path);
  database.exec(TABLES);
  const closing = new AbortController();
  const remove = database.transaction((pid: number, crashed: boolean) => {
    const ended = database.prepare('delete from processes where pid = ? returning instance').pluck();
    for (const instance of ended.all(pid) as string[]) {
      const notice: GoneProcess = { instance, crashed };
      database.prepare('update published set live = 0 where instance = ?').run(instance);
      database
        .prepare("insert into notices (instance, channel, body, asks) values ('', ?, ?, 0)")
        .run(GONE, serialize(notice));
    }
    database
      .prepare(
        'delete from published where live = 0 and rowid not in (select rowid from published where live = 0 order by rowid desc limit ?)',
      )
      .run(KEPT_FORMER);
  });
  return {
    /** Removes a process that has ended, and retries until that is recorded: others would wait for it. Never rejects. */
    async gone(pid: number, crashed: boolean): Promise<void> {
      const recorded = new AbortController();
      const record = () => {
        remove.immediate(pid, crashed);
        recorded.abort();
      };
      const failure = 'the end of a process could not be recorded; retrying';
      const until = AbortSignal.any([recorded.signal, closing.signal]);
      await repeat(record, { ...env, pause: RETRY_MS, failure }, until);
    },
    close(): void {
      closing.abort();
      database.close();
    },
  };
}

function connect(path: string): BetterSqlite3.Database {
  const database = new BetterSqlite3(path, { timeout: BUSY_TIMEOUT_MS });
  database.pragma('journal_mode = wal');
  // Needed only while processes run: a power cut may lose it.
  database.pragma('synchronous = off');
  return database;
}

export class ProcessFeed {
  readonly #options: ProcessFeedOptions;
  readonly #database: BetterSqlite3.Database;
  readonly #listeners = new Map<string, Listener[]>();
  readonly #version: BetterSqlite3.Statement;
  readonly #since: BetterSqlite3.Statement<[number], Notice>;
  readonly #insert: BetterSqlite3.Statement;
  readonly #questions = new Set<Question>();
  #posts: { readonly channel: string; readonly body: Buffer }[] = [];
  #posting: Promise<void> | null = null;
  #seen = -1;
  /** The last notice read; `#seen` is the file's version at that time. */
  #read: number;
  #handled: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #watcher: FSWatcher | null = null;

  constructor(options: ProcessFeedOptions) {
    this.#options = options;
    const path = join(options.data, FILE);
    this.#database = connect(path);
    // Own commits do not change it.
    this.#version = this.#database.prepare('pragma data_version').pluck();
    this.#since = this.#database.prepare('select * from notices where number > ? order by number');
    this.#insert = this.#database.prepare(
      'insert into notices (instance, channel, body, asks) values (?, ?, ?, ?)',
    );
    this.#read = this.#lastNumber();
  }

  /** Listeners run in the order of notices; a question waits for their promises. */
  on(channel: string, listener: Listener): void {
    this.#listeners.set(channel, [...(this.#listeners.get(channel) ?? []), listener]);
  }

  /** Until it is closed, other processes wait for this one. Resolves when it has handled all earlier notices. */
  async follow(): Promise<{ close(): Promise<void> }> {
    await this.#write(() =>
      this.#database
        .prepare('insert into processes (instance, pid, answered) values (?, ?, ?)')
        .run(this.#options.instance, process.pid, this.#read),
    );
    this.poll();
    await this.#handled;
    this.#timer = setInterval(() => this.poll(), POLL_MS).unref();
    try {
      this.#watcher = watch(join(this.#options.data, `${FILE}-wal`), { persistent: false }, () =>
        this.poll(),
      );
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // The timer remains.
    }
    return { close: () => this.#leave() };
  }

  /** Applies what others have posted; about a microsecond when there is nothing new. */
  poll(): void {
    if (!this.#database.open) return;
    const version = this.#version.get() as number;
    if (version === this.#seen) return;
    this.#seen = version;
    for (const notice of this.#since.all(this.#read)) this.#take(notice);
    this.#checkQuestions();
  }

  /** Announces a notice soon; `posted` waits until it is written. */
  post(channel: string, body: unknown): void {
    this.#posts.push({ channel, body: serialize(body) });
    this.#posting ??= Promise.resolve()
      .then(() => this.#writePosts())
      .finally(() => {
        this.#posting = null;
      });
    // Reported by `posted`.
    this.#posting.catch(() => {});
  }

  /** Resolves when others see all earlier notices before they show a copy. */
  async posted(): Promise<void> {
    await this.#posting;
    if (this.#posts.length > 0) await this.#writePosts();
  }

  /** Resolves when every other process has handled this notice, and all earlier ones, or has ended. */
  async ask(channel: string, body: unknown = null): Promise<void> {
    await this.posted();
    const { instance } = this.#options;
    const { lastInsertRowid } = await this.#write(() =>
      this.#insert.run(instance, channel, serialize(body), 1),
    );
    const question = { number: Number(lastInsertRowid), answered: createDeferred<void>() };
    this.#questions.add(question);
    this.#checkQuestions();
    // Before `follow` no timer polls.
    const checking = setInterval(() => this.#checkQuestions(), POLL_MS);
    try {
      await this.#inTime(question);
    } finally {
      clearInterval(checking);
      this.#questions.delete(question);
    }
  }

  /** Figures of this process, serialized, for the others. */
  publish(body: Buffer): Promise<unknown> {
    return this.#write(() =>
      this.#database
        .prepare('insert or replace into published (instance, live, body) values (?, 1, ?)')
        .run(this.#options.instance, body),
    );
  }

  /** Figures of the other processes, ended ones included. */
  published(): readonly Published[] {
    const rows = this.#database
      .prepare<[string], { live: number; body: Buffer }>(
        'select live, body from published where instance <> ?',
      )
      .all(this.#options.instance);
    return rows.map(({ live, body }) => ({ live: live === 1, body: deserialize(body) }));
  }

  async close(): Promise<void> {
    await this.posted().catch(() => {});
    const former = this.#database.prepare('update published set live = 0 where instance = ?');
    await this.#write(() => former.run(this.#options.instance)).catch(() => {});
    this.#database.close();
  }

  async #leave(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#watcher?.close();
    await this.#handled.catch(() => {});
    this.#listeners.clear();
    const leave = this.#database.prepare('delete from processes where instance = ?');
    await this.#write(() => leave.run(this.#options.instance)).catch(() => {});
  }

  #lastNumber(): number {
    return (this.#database.prepare('select max(number) from notices').pluck().get() as number | null) ?? 0;
  }

  #take({ number, instance, channel, body, asks }: Notice): void {
    const missed = number !== this.#read + 1;
    this.#read = number;
    if (missed) this.#dispatch(MISSED, null);
    if (instance === this.#options.instance) return;
    this.#dispatch(channel, deserialize(body));
    if (asks === 1) void this.#answer(number);
  }

  #dispatch(channel: string, body: unknown): void {
    const work = this.#listeners.get(channel)?.map((listener) => listener(body)) ?? [];
    if (work.some((one) => one instanceof Promise)) this.#handled = Promise.all([this.#handled, ...work]);
  }

  /** Acknowledges a notice. A process that cannot apply it does not, and is killed. */
  async #answer(number: number): Promise<void> {
    const { instance, log } = this.#options;
    try {
      await this.#handled;
      const answer = this.#database.prepare('update processes set answered = ? where instance = ?');
      await this.#write(() => answer.run(number, instance));
    } catch (err) {
      log.error({ err }, 'a change of another process could not be applied');
    }
  }

  #waitingFor({ number }: Question): readonly number[] {
    const silent = this.#database.prepare<[string, number], number>(
      'select pid from processes where instance <> ? and answered < ?',
    );
    return silent.pluck().all(this.#options.instance, number) as unknown as readonly number[];
  }

  #checkQuestions(): void {
    for (const question of this.#questions) {
      if (this.#waitingFor(question).length === 0) question.answered.resolve();
    }
  }

  async #inTime(question: Question): Promise<void> {
    const { clock, log, onSilent } = this.#options;
    const { promise } = question.answered;
    const answered = new AbortController();
    void promise.then(() => answered.abort());
    await clock.sleep(SILENT_MS, answered.signal).catch(() => {});
    if (answered.signal.aborted) return;
    for (const pid of this.#waitingFor(question)) {
      log.warn({ pid }, 'a process of the server does not respond; it is killed');
      onSilent(pid);
    }
    await clock.sleep(END_MS, answered.signal).catch(() => {});
    if (!answered.signal.aborted) throw new UnavailableError('A process of the server does not respond.');
  }

  async #writePosts(): Promise<void> {
    const { instance } = this.#options;
    while (this.#posts.length > 0) {
      const posts = this.#posts;
      this.#posts = [];
      try {
        await this.#write(() => {
          let last = 0;
          for (const { channel, body } of posts) {
            last = Number(this.#insert.run(instance, channel, body, 0).lastInsertRowid);
          }
          if (last % 1000 < posts.length) {
            this.#database.prepare('delete from notices where number < ?').run(last - KEPT_NOTICES);
          }
        });
      } catch (error) {
        this.#posts = [...posts, ...this.#posts];
        throw error;
      }
    }
  }

  async #write<Result>(work: () => Result): Promise<Result> {
    const { clock } = this.#options;
    const deadline = clock.monotonic() + WRITE_TIMEOUT_MS;
    for (;;) {
      try {
        return this.#database.transaction(work).immediate();
      } catch (error) {
        const isBusy = errorCode(error)?.startsWith('SQLITE_BUSY') ?? false;
        if (!(isBusy || isNoRoom(error)) || clock.monotonic() > deadline) throw error;
      }
      await clock.sleep(RETRY_MS);
    }
  }
}
