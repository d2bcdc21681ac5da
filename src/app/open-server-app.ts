import { openApp } from '../app.ts';
import type { Settings } from '../config/settings.ts';
import type { ProcessPort } from '../lib/channel.ts';
import { openChild } from './child-life.ts';
import { END_PROCESS, FILE_APPLIED, START_WORKERS } from './open-supervisor.ts';
import type { ServerEnv } from './open-workers.ts';

/** One of several processes that answer; `port` leads to their parent. */
export function openServerApp(
  settings: Settings,
  env: Omit<ServerEnv, 'supervisor'>,
  port: ProcessPort,
  first: boolean,
) {
  return openChild(port, (parent) => {
    const supervisor = {
      first,
      end: (pid: number) => parent.tell(END_PROCESS, { pid }),
      reloaded: () => parent.tell(FILE_APPLIED, null),
      startWorkers: () => parent.tell(START_WORKERS, null),
    };
    return openApp(settings, { ...env, supervisor });
  });
}
