/**
 * A server in the process of the test, from the sources: for tests that neither kill it nor examine its processes. It takes
 * a third of the processor of `startServer`, and performs tasks itself.
 *
 *   const server = await openServer({ config });
 *   await fetch(`${server.url}/tiles/roads/0/0/0.png`);
 */
import { pino } from 'pino';
import { openApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { keepLog, temporaryFolder, whenFileOver, whenOver } from '../fixtures/when-over.ts';
import {
  ADMIN_PASSWORD,
  authorizationFor,
  expectCleanLog,
  freshData,
  type RunningServer,
  type ServerOptions,
  writeConfig,
} from './server.ts';

export interface OpenServer extends Pick<RunningServer, 'url' | 'authorization' | 'data'> {
  /** Lines of JSON. */
  log(): string;
  /** Closes it; fails the test when the log has unexpected lines. */
  stop(): Promise<void>;
}

export type OpenServerOptions = Pick<
  ServerOptions,
  'config' | 'data' | 'env' | 'expectedLog' | 'outlivesTest'
> & {
  /** As in a command line, e.g. `{ 'no-auth': 'true' }`. */
  readonly flags?: Readonly<Record<string, string>>;
};

/** Closed at the latest when the test is over. */
export async function openServer(options: OpenServerOptions = {}): Promise<OpenServer> {
  const data = options.data ?? (await freshData(options));
  const config = options.config === undefined ? {} : { config: writeConfig(options.config) };
  const flags = { data, port: '0', ...config, ...options.flags };
  const environment = { TILEWARDEN_ADMIN_PASSWORD: ADMIN_PASSWORD, ...options.env };
  const workingFolder = temporaryFolder();
  const input = { flags, environment, workingFolder };
  const file = { input, current: await loadSettings(input) };
  let lines = '';
  const write = (line: string) => {
    lines += line;
  };
  const { settings } = file.current;
  const log = pino({ level: settings.log.level, base: null }, { write });
  const env = { log, clock: systemClock, random: systemRandom, file };
  const app = await openApp(settings, {
    ...env,
    ...(settings.tasks.workers === 0 && { forkWorker: noWorker }),
  });
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= app.close();
    return closed;
  };
  const kept = keepLog(`server-${new URL(app.url).port}`, () => lines);
  const end = options.outlivesTest ? whenFileOver : whenOver;
  end(async () => {
    await close();
    kept.forget();
  });
  return {
    url: app.url.replace(/\/$/, ''),
    authorization: authorizationFor(data),
    data,
    log: () => lines,
    async stop() {
      await close();
      expectCleanLog(lines, options.expectedLog);
    },
  };
}

/** Without it the server would perform tasks itself. */
function noWorker(): never {
  throw new Error('tasks.workers is 0');
}
