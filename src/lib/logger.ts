import { pino } from 'pino';

export interface Logger {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
  child(bindings: object): Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Readable lines for a terminal; JSON lines otherwise. */
  readonly pretty: boolean;
}

/** Logs go to standard error: standard output carries only the line that says the server is ready. */
export function createLogger(options: LoggerOptions): Logger {
  const settings = { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!options.pretty) return pino(settings, pino.destination({ dest: 2, sync: true }));
  return pino({
    ...settings,
    transport: {
      target: 'pino-pretty',
      options: { destination: 2, translateTime: 'HH:MM:ss', singleLine: true },
    },
  });
}

export const silentLogger: Logger = pino({ level: 'silent' });
