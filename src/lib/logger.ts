import { pino } from 'pino';

export interface Logger {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
  child(bindings: object): Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Logs go to standard error: standard output carries only the line that says the server is ready. They are readable
 * lines on a terminal, lines of JSON otherwise.
 */
export function createLogger(level: LogLevel): Logger {
  const settings = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (process.stderr.isTTY !== true) return pino(settings, pino.destination({ dest: 2, sync: true }));
  return pino({
    ...settings,
    transport: {
      target: 'pino-pretty',
      options: { destination: 2, translateTime: 'HH:MM:ss', singleLine: true },
    },
  });
}

export const silentLogger: Logger = pino({ level: 'silent' });
