import { openApp } from '../app.ts';
import type { Settings } from '../config/settings.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { createChannel, type ProcessPort } from '../lib/channel.ts';
import type { ServerEnv } from './open-node.ts';
import { END_PROCESS, FILE_APPLIED, STARTED, STOP_SERVING } from './open-supervisor.ts';

/** One of several processes that answer; `port` leads to their parent. */
export async function openServerApp(
  settings: Settings,
  env: Omit<ServerEnv, 'supervisor'>,
  port: ProcessPort,
  first: boolean,
) {
  const channel = createChannel(port, errorCopier);
  const supervisor = {
    first,
    end: (pid: number) => channel.tell(END_PROCESS, { pid }),
    reloaded: () => channel.tell(FILE_APPLIED, null),
  };
  const app = await openApp(settings, { ...env, supervisor }).catch((error: unknown) => {
    const problem = error instanceof Error ? error.message : String(error);
    channel.tell(STARTED, { problem, initialPassword: null });
    throw error;
  });
  const stopped = new Promise<void>((resolve) => channel.handle(STOP_SERVING, () => resolve()));
  channel.tell(STARTED, { problem: null, initialPassword: app.initialPassword });
  return { stopped, close: app.close };
}
