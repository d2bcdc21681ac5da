import { setTimeout as delay } from 'node:timers/promises';
import { type MockResponse, type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { openScenarioServer, type ScenarioServer } from './scenario-server.ts';

export interface ReturnReport {
  /** The kind of outage. */
  readonly away: string;
  /** Milliseconds from its return to the first good tile. */
  readonly firstGoodTileMs: number;
  /** Requests to the upstream during the outage, and tiles that clients requested. */
  readonly requests: number;
  readonly asked: number;
}

const ZOOM = 12;
/** Milliseconds between requests of clients, each for another tile. */
const EVERY = 100;
const MAX_WAIT_MS = 30_000;

/** An upstream with outages of some seconds, of several kinds, and clients that always send requests. */
export async function runReturns(seconds: number): Promise<readonly ReturnReport[]> {
  const server = await openScenarioServer({ timeoutSeconds: 15 });
  const successors: MockWms[] = [];
  let columns = 0;
  const stage: Stage = { server, column: () => columns++ };
  try {
    return [
      await runReturn(stage, 'hanging', seconds, answering(server.wms, 'hang')),
      await runReturn(stage, 'hanging for a moment', 2, answering(server.wms, 'hang')),
      await runReturn(stage, 'answering 503', seconds, answering(server.wms, { status: 503 })),
      await runReturn(stage, 'resetting connections', seconds, answering(server.wms, 'reset')),
      await runReturn(stage, 'not there', seconds, closing(server.wms, successors)),
    ];
  } finally {
    server.wms.release();
    await server.close();
    for (const wms of successors) await wms.close();
  }
}

interface Stage {
  readonly server: ScenarioServer;
  /** Another one each time. */
  readonly column: () => number;
}

interface Outage {
  begin(): Promise<void>;
  /** Resolves to the number of requests during the outage. */
  end(): Promise<number>;
}

/** Requests during a hang never get a response, also when it is back. */
function answering(wms: MockWms, answer: MockResponse): Outage {
  let before = 0;
  return {
    async begin() {
      before = wms.requests.length;
      wms.answer = answer;
    },
    async end() {
      wms.answer = 'good';
      return wms.requests.length - before;
    },
  };
}

/** Closes the port, then listens again on the same one. Requests in between are not counted. */
function closing(wms: MockWms, successors: MockWms[]): Outage {
  return {
    begin: () => wms.close(),
    async end() {
      successors.push(await openMockWms({ port: Number(new URL(wms.origin).port) }));
      return 0;
    },
  };
}

async function runReturn(
  { server, column }: Stage,
  away: string,
  seconds: number,
  outage: Outage,
): Promise<ReturnReport> {
  const goods: number[] = [];
  const asking = new AbortController();
  let asked = 0;
  const ask = async () => {
    asked++;
    const { status } = await server.tile(ZOOM, column(), 0);
    if (status === 200) goods.push(performance.now());
  };
  const people = (async () => {
    const all: Promise<void>[] = [];
    for (; !asking.signal.aborted; await delay(EVERY)) all.push(ask());
    await Promise.all(all);
  })();
  await delay(2000);
  await outage.begin();
  asked = 0;
  await delay(seconds * 1000);
  const askedMeanwhile = asked;
  const requests = await outage.end();
  const back = performance.now();
  const first = () => goods.find((at) => at > back);
  while (first() === undefined && performance.now() < back + MAX_WAIT_MS) await delay(5);
  asking.abort();
  await people;
  return {
    away,
    firstGoodTileMs: Math.round((first() ?? Number.POSITIVE_INFINITY) - back),
    requests,
    asked: askedMeanwhile,
  };
}
