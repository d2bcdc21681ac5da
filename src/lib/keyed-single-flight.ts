import { orAborted } from './deferred.ts';

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

/** Callers who ask for the same key at the same time share one piece of work and its result. */
export function createKeyedSingleFlight<T>() {
  const flights = new Map<string, Flight<T>>();

  function launch(key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    // A `start` that throws before its first await fails the flight like any other failure.
    const result = Promise.resolve().then(() => start(controller.signal));
    const flight: Flight<T> = { result, controller, callers: 0 };
    flights.set(key, flight);
    const land = () => forget(key, flight);
    result.then(land, land);
    return flight;
  }

  function forget(key: string, flight: Flight<T>): void {
    if (flights.get(key) === flight) flights.delete(key);
  }

  function leave(key: string, flight: Flight<T>, reason: unknown): void {
    flight.callers--;
    if (flight.callers > 0) return;
    forget(key, flight);
    flight.controller.abort(reason);
  }

  return {
    /**
     * Joins the flight of `key`, or starts one. A caller whose signal aborts leaves with its reason; the flight
     * itself is aborted only when all its callers have left, and a later caller then starts a new one.
     */
    async run(key: string, start: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
      signal?.throwIfAborted();
      const flight = flights.get(key) ?? launch(key, start);
      flight.callers++;
      return orAborted(flight.result, signal, (reason) => leave(key, flight, reason));
    },
    get size() {
      return flights.size;
    },
  };
}
