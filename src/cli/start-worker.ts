import { type ChildProcess, fork } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { SettingsHandover } from '../config/settings-handover.ts';

/** Starts `tilewarden worker` with this process's settings: the file may have been edited since they were read. */
export function startWorker(handover: SettingsHandover): ChildProcess {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const main = fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
  const worker = fork(main, ['worker'], { stdio: ['pipe', 'ignore', 'inherit', 'ipc'] });
  // A worker that has died before it read them is replaced where its exit is waited for.
  worker.stdin?.on('error', () => {});
  worker.stdin?.end(JSON.stringify(handover));
  return worker;
}

/** The worker's side. */
export async function receiveHandover(): Promise<SettingsHandover> {
  return JSON.parse(await text(process.stdin));
}
