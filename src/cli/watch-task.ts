import { systemClock } from '../lib/clock.ts';
import type { Terminal } from './command.ts';
import { followTask } from './follow-task.ts';
import { openInterruption } from './interruption.ts';
import type { ServerClient } from './server-client.ts';
import type { TaskDocument } from './task-document.ts';

/** Shows a task's progress until it is over or Ctrl-C ends the watching. Resolves with the exit code. */
export async function watchTask(
  task: TaskDocument,
  client: ServerClient,
  terminal: Terminal,
  json: boolean,
): Promise<number> {
  const interruption = openInterruption();
  try {
    return await followTask(task, {
      client,
      terminal,
      clock: systemClock,
      json,
      signal: interruption.signal,
    });
  } finally {
    interruption.close();
  }
}
