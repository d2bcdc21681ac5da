import type { ServerResponse } from 'node:http';

/** Ends the response with these bytes, together with the others of this turn. */
export type Outbox = (response: ServerResponse, bytes: Buffer | undefined) => void;

/** So many wait at most: whoever came first does not wait for all who follow. */
const MOST_WAITING = 32;

/**
 * Answers of one turn of the event loop are written in one go at its end. A proxy or client on the same machine is
 * then woken once for all of them, not for each: waking it costs more than making an answer does.
 */
export function createOutbox(): Outbox {
  let waiting: [ServerResponse, Buffer | undefined][] = [];

  function empty(): void {
    const ready = waiting;
    waiting = [];
    for (const [response, bytes] of ready) if (!response.destroyed) response.end(bytes);
  }

  return (response, bytes) => {
    if (waiting.length === 0) setImmediate(empty);
    waiting.push([response, bytes]);
    if (waiting.length >= MOST_WAITING) empty();
  };
}
