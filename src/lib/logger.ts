import { createRequire } from 'node:module';
import { pino } from 'pino';
import type PinoPretty from 'pino-pretty';

export interface Logger {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
  child(bindings: object): Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Logs go to standard error: standard output carries only what a start prints for people and scripts. They are readable
 * lines on a terminal, lines of JSON otherwise.
 */
export function createLogger(level: LogLevel): Logger {
  const settings = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const onTerminal = process.stderr.isTTY === true;
  return pino(settings, onTerminal ? prettyLines() : pino.destination({ dest: 2, sync: true }));
}

/** Loaded only for a terminal. */
function prettyLines(): PinoPretty.PrettyStream {
  const build: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty');
  return build({ destination: 2, sync: true, translateTime: 'HH:MM:ss', singleLine: true });
}

export const silentLogger: Logger = pino({ level: 'silent' });
