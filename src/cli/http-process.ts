import { settingsFrom } from '../config/settings-handover.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import type { Command } from './command.ts';
import { hardenProcess } from './harden-process.ts';
import { receiveHandover } from './start-process.ts';

export const httpProcess: Command = {
  name: 'http-process',
  summary: 'answer HTTP for a server (started by it, not by hand)',
  flags: [],
  async run(_flags, terminal) {
    if (!process.send) {
      terminal.err('HTTP processes are started by tilewarden serve --processes N.\n');
      return 2;
    }
    // It does not outlive the server whose tiles it answers.
    process.once('disconnect', () => process.exit(1));
    if (!process.connected) return 1;
    // Ctrl-C reaches the whole group; the server decides when a process ends.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
    hardenProcess();
    const settings = settingsFrom(await receiveHandover());
    const log = createLogger({ level: settings.log.level, pretty: process.stderr.isTTY === true });
    const { openHttpProcessApp } = await import('../app/open-http-process-app.ts');
    const surroundings = { log: log.child({ http: process.pid }), clock: systemClock };
    const app = await openHttpProcessApp(settings, surroundings, process);
    await app.stopped;
    await app.close();
    process.removeAllListeners('disconnect');
    process.disconnect();
    return 0;
  },
};
