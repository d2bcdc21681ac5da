/** Loads by wrk: requests for random tiles, one contestant after the other. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { started } from '../../scripts/steps.mjs';
import { findProgram } from '../../test/fixtures/needs.ts';
import { processorSeconds, requireProgram } from './processes.ts';
import { quantile, say, sayMachine } from './report.ts';

export interface Contestant {
  readonly name: string;
  /** Without a slash at the end. */
  readonly url: string;
  /** The part of a tile's address before the zoom. */
  readonly prefix: string;
  /** A file with one name a line, e.g. `4/3/2.png`: these tiles are requested. */
  readonly tiles: string;
  /** The processes that answer. */
  pids(): readonly number[];
  stop(): Promise<void>;
}

export interface Load {
  readonly seconds: number;
  readonly connections: number;
  /** Milliseconds before each request of a connection, so that the load does not use up the processors. */
  readonly pause?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Processor time of the contestant for a request. */
  readonly microsecondsEach: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('./random-tiles.lua', import.meta.url));

/** The names of all tiles of a zoom, or of a square of them. */
export function tileNames(zoom: number, side = 2 ** zoom): string[] {
  return Array.from({ length: side ** 2 }, (_, at) => `${zoom}/${Math.floor(at / side)}/${at % side}.png`);
}

export function writeTileList(file: string, names: readonly string[]): string {
  writeFileSync(file, `${names.join('\n')}\n`);
  return file;
}

export async function measureLoad(contestant: Contestant, load: Load): Promise<LoadResult> {
  return await startLoad(contestant, load).result;
}

/** `stop` ends it before its time. */
export function startLoad(contestant: Contestant, load: Load) {
  const before = processorSeconds(contestant.pids());
  const wrk = run(requireProgram('wrk'), wrkArguments(contestant, load));
  const read = async (): Promise<LoadResult> => {
    const { stdout } = await wrk;
    if (/Non-2xx/.test(stdout)) throw new Error(`${contestant.name} answered with errors:\n${stdout}`);
    const requests = requestsIn(stdout);
    return {
      requests,
      requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
      microsecondsEach: ((processorSeconds(contestant.pids()) - before) * 1e6) / requests,
      p50: milliseconds(/50%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
      p99: milliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
    };
  };
  const result = read();
  const stop = () => {
    wrk.child.kill('SIGINT');
    return result;
  };
  return { result, stop };
}

/**
 * Prints the best round of each contestant, and its ratios to the first one. They take turns, so that other programs disturb
 * all of them; the best round is the one least disturbed.
 */
export async function compete(
  contestants: readonly Contestant[],
  load: Load,
  rounds: number,
  beforeEach = () => {},
): Promise<void> {
  sayMachine();
  for (const contestant of contestants) await warmUp(contestant, load);
  const results = contestants.map((): LoadResult[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      beforeEach();
      results[i]?.push(await measureLoad(contestant, load));
    }
  }
  const best = results.map((all) => ({
    perSecond: quantile(
      all.map((result) => result.requestsPerSecond),
      1,
    ),
    microseconds: quantile(
      all.map((result) => result.microsecondsEach),
      0,
    ),
    p99: quantile(
      all.map(({ p99 }) => p99),
      0,
    ),
  }));
  const [first] = best;
  for (const [i, { perSecond, microseconds, p99 }] of best.entries()) {
    const contestant = contestants[i];
    if (!first || !contestant) continue;
    const calls = await systemCallsPerRequest(contestant, load);
    say(
      `${contestant.name.padEnd(40)} ${perSecond.toFixed(0).padStart(7)} requests/s` +
        `  ${(perSecond / first.perSecond).toFixed(2)} of ${contestants[0]?.name}` +
        `  ${microseconds.toFixed(1).padStart(6)} µs of processor each, ${(first.microseconds / microseconds).toFixed(2)}` +
        `  p99 ${p99.toFixed(1)} ms  ${calls?.toFixed(1) ?? 'unknown'} system calls each`,
    );
  }
}

/** After these memories are full and code is compiled, however slow the machine is. */
const WARM_REQUESTS = 100_000;

export async function warmUp(contestant: Contestant, load: Load): Promise<void> {
  for (let requests = 0; requests < WARM_REQUESTS; ) {
    requests += (await measureLoad(contestant, { ...load, seconds: 2 })).requests;
  }
}

/** Counts those of all threads, at the speed that strace allows. Null without strace. */
async function systemCallsPerRequest(contestant: Contestant, load: Load): Promise<number | null> {
  const strace = findProgram('strace');
  if (strace === null) return null;
  const pids = contestant.pids().flatMap((pid) => ['-p', String(pid)]);
  const tracer = await started(spawn(strace, ['-c', '-f', ...pids], { stdio: ['ignore', 'ignore', 'pipe'] }));
  const end = once(tracer, 'close');
  let summary = '';
  tracer.stderr.setEncoding('utf8').on('data', (text: string) => {
    summary += text;
  });
  await once(tracer.stderr, 'data');
  const { stdout } = await run('wrk', wrkArguments(contestant, { ...load, seconds: 2 }));
  tracer.kill('SIGINT');
  await end;
  // Columns of the last line: share, seconds, microseconds a call, calls, perhaps errors, "total".
  const total = summary.split('\n').find((line) => line.trimEnd().endsWith(' total'));
  const calls = Number(total?.trim().split(/\s+/)[3]);
  return Number.isNaN(calls) ? null : calls / requestsIn(stdout);
}

function wrkArguments({ url, prefix, tiles }: Contestant, { seconds, connections, pause }: Load): string[] {
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', SCRIPT];
  return [...options, url, '--', prefix, tiles, String(pause ?? 0)];
}

function requestsIn(output: string): number {
  return Number(/(\d+) requests in/.exec(output)?.[1]);
}

function milliseconds(match: RegExpExecArray | null): number {
  const factor = { us: 0.001, ms: 1, s: 1000 }[match?.[2] ?? 'ms'] ?? 1;
  return Number(match?.[1]) * factor;
}
