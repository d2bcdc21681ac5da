import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Contestant {
  readonly name: string;
  /** Without a slash at the end. */
  readonly url: string;
  /** What stands before the zoom in the address of a tile. */
  readonly prefix: string;
  /** The processes that answer. */
  pids(): readonly number[];
  stop(): Promise<void>;
}

export interface Load {
  readonly seconds: number;
  readonly connections: number;
  readonly zoom: number;
  /** A file that names those of its tiles that are asked for, e.g. `4/3/2.png`, one a line; all when left out. */
  readonly tiles?: string;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly microsecondsEach: number;
  /** Milliseconds. */
  readonly p99: number;
}

const run = promisify(execFile);
const WRK_SCRIPT = fileURLToPath(new URL('./random-tiles.lua', import.meta.url));

export function programPath(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface CopiedTile {
  /** E.g. `4/3/2.png`. */
  readonly name: string;
  readonly bytes: number;
}

/** Asks for every tile of a zoom and lays them down as files, at the same paths. */
export async function copyTiles(from: Contestant, zoom: number, www: string): Promise<CopiedTile[]> {
  const copied: CopiedTile[] = [];
  for (let x = 0; x < 2 ** zoom; x++) {
    mkdirSync(join(www, `tiles/world/${zoom}/${x}`), { recursive: true });
    for (let y = 0; y < 2 ** zoom; y++) {
      const name = `${zoom}/${x}/${y}.png`;
      const response = await fetch(`${from.url}/tiles/world/${name}`);
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
      const tile = Buffer.from(await response.arrayBuffer());
      writeFileSync(join(www, 'tiles/world', name), tile);
      copied.push({ name, bytes: tile.length });
    }
  }
  return copied;
}

export async function measureLoad(contestant: Contestant, load: Load): Promise<LoadResult> {
  const before = processorSeconds(contestant.pids());
  const { stdout } = await run('wrk', wrkArguments(contestant, load));
  const used = processorSeconds(contestant.pids()) - before;
  if (/Non-2xx/.test(stdout)) throw new Error(`${contestant.name} answered with errors:\n${stdout}`);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1] ?? 0);
  const requestsPerSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1] ?? 0);
  const p99 = milliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(stdout));
  return { requestsPerSecond, microsecondsEach: (used * 1e6) / requests, p99 };
}

/** All threads of the process, while it answers as fast as strace lets it. Null where strace is not to be had. */
export async function systemCallsPerRequest(contestant: Contestant, load: Load): Promise<number | null> {
  if (programPath('strace') === null) return null;
  const tracer = spawn('strace', ['-c', '-f', ...contestant.pids().flatMap((pid) => ['-p', String(pid)])], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let summary = '';
  tracer.stderr.on('data', (chunk: Buffer) => {
    summary += chunk.toString();
  });
  await once(tracer.stderr, 'data');
  const { stdout } = await run('wrk', wrkArguments(contestant, { ...load, seconds: 2 }));
  const ended = once(tracer, 'close');
  tracer.kill('SIGINT');
  await ended;
  // Columns of the last line: share, seconds, microseconds a call, calls, perhaps errors, "total".
  const total = summary.split('\n').find((line) => line.trimEnd().endsWith(' total'));
  const calls = Number(total?.trim().split(/\s+/)[3] ?? Number.NaN);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1] ?? 0);
  return Number.isNaN(calls) || requests === 0 ? null : calls / requests;
}

function wrkArguments({ url, prefix }: Contestant, { seconds, connections, zoom, tiles }: Load): string[] {
  const of = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', WRK_SCRIPT];
  return [...of, url, '--', String(zoom), prefix, ...(tiles === undefined ? [] : [tiles])];
}

function milliseconds(match: RegExpExecArray | null): number {
  const factor = { us: 0.001, ms: 1, s: 1000 }[match?.[2] ?? 'ms'] ?? 1;
  return Number(match?.[1] ?? Number.NaN) * factor;
}

/** Of a process that has forked them. */
export function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** From /proc/PID/stat: the 14th and 15th fields, in ticks. The name before them may hold spaces. */
export function processorSeconds(pids: readonly number[]): number {
  const ofOne = (pid: number) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond();
  };
  return pids.reduce((sum, pid) => sum + ofOne(pid), 0);
}

let ticks = 0;

function ticksPerSecond(): number {
  ticks ||= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ticks;
}
