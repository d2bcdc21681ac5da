/** What the processes of a server and their parent say to each other: that one has started, and that it is to stop. */
import type { ChildProcess } from 'node:child_process';
import { errorCopier } from '../domain/error-copier.ts';
import { misconfigured } from '../domain/errors.ts';
import { type Channel, createChannel, messageKind, type ProcessPort } from '../lib/channel.ts';
import type { Child, ForkedProcess } from '../lib/child-pool.ts';
import { type Clock, ifLate } from '../lib/clock.ts';

/** The first administrator's, if it was made up at this start. */
export interface InitialPassword {
  readonly password: string;
  readonly file: string;
}

interface StartReport {
  /** Null: it is ready. */
  readonly problem: string | null;
  readonly initialPassword: InitialPassword | null;
}

const STARTED = messageKind<StartReport>('started');
/** From the parent: ends what it is doing, then the process. */
export const STOP_PROCESS = messageKind('stop-process');

/** Milliseconds. On a machine with far too much to do a sound process may need seconds. */
const START_TIMEOUT_MS = 60_000;

export function forkedWith(process: ChildProcess): ForkedProcess {
  return { process, channel: createChannel(process, errorCopier) };
}

/** Resolves when the process is ready; throws when it cannot start. */
export async function started(
  { process: child, channel, gone }: Child,
  clock: Clock,
): Promise<StartReport['initialPassword']> {
  let problem = 'The process ended at its start.';
  const report = new Promise<StartReport>((resolve) => channel.handle(STARTED, resolve));
  const late = () => {
    problem = 'The process did not start in time.';
    child.kill('SIGKILL');
  };
  const ended = gone.then(() => ({ problem, initialPassword: null }));
  const start = await ifLate(clock, START_TIMEOUT_MS, late, () => Promise.race([report, ended]));
  if (start.problem !== null) throw misconfigured(start.problem);
  return start.initialPassword;
}

/** The side of the child; `port` leads to its parent. `stopped` resolves when the parent wants it to end. */
export async function openChild(
  port: ProcessPort,
  open: (parent: Channel) => Promise<{ close(): Promise<void> } & Partial<Omit<StartReport, 'problem'>>>,
) {
  const parent = createChannel(port, errorCopier);
  const app = await open(parent).catch((error: unknown) => {
    const problem = error instanceof Error ? error.message : String(error);
    parent.tell(STARTED, { problem, initialPassword: null });
    throw error;
  });
  const stopped = new Promise<void>((resolve) => parent.handle(STOP_PROCESS, () => resolve()));
  parent.tell(STARTED, { problem: null, initialPassword: app.initialPassword ?? null });
  return { stopped, close: app.close };
}
