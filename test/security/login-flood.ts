import { setTimeout as pause } from 'node:timers/promises';
import { inLength } from '../fixtures/length.ts';
import { type RawResponse, rawRequest } from './raw-request.ts';

/** Different addresses that guesses come from. */
const SOURCES = inLength(3, 100);
/** Milliseconds after a refusal, so that guessers leave the processor to the server that they wait for. */
const REFUSED_PAUSE = inLength(100, 0);

/** The `Authorization` header of `admin` with this password. */
export function basicOf(password: string): string {
  return `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
}

/** The account of a caller at this loopback address. */
export function askWho(url: string, authorization: string, from?: string): Promise<RawResponse> {
  const head = `GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`;
  return rawRequest(url, head, from);
}

export interface LoginFlood {
  /** The number of guesses by status. */
  readonly statuses: ReadonlyMap<number | null, number>;
  /** Whether a guess from each address was answered: the addresses are no longer calm. */
  hasTriedEverywhere(): boolean;
  /** Resolves when the last guess has its answer. */
  stop(): Promise<void>;
}

/** Wrong passwords of `admin` from many addresses, with a constant number in flight. */
export function openLoginFlood(url: string, atOnce: number): LoginFlood {
  const statuses = new Map<number | null, number>();
  const tried = new Set<string>();
  let [guesses, stopped] = [0, false];
  const guesser = async () => {
    while (!stopped) {
      const number = guesses++;
      const from = `127.0.1.${1 + (number % SOURCES)}`;
      const { status } = await askWho(url, basicOf(`guess ${number}`), from);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      tried.add(from);
      if (status === 429) await pause(REFUSED_PAUSE);
    }
  };
  const guessers = Array.from({ length: atOnce }, guesser);
  return {
    statuses,
    hasTriedEverywhere: () => tried.size === SOURCES,
    async stop() {
      stopped = true;
      await Promise.all(guessers);
    },
  };
}
