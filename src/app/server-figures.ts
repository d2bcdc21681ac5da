import { serialize } from 'node:v8';
import type { ProcessFeed } from '../db/process-feed.ts';
import type { UpstreamStatus } from '../domain/upstream-status.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { NodeServices } from './open-node-services.ts';

/** Channel: every process publishes its figures. */
const FIGURES = 'figures';
/** Milliseconds between publications without a question; a killed process loses as much. */
const INTERVAL = 5000;

type CountedServices = Pick<NodeServices, 'limiter' | 'tallies'>;

export type ServerFigures = ReturnType<typeof openServerFigures>;

/** Figures that are shown as sums over the processes of a server, whichever of them is asked. */
export function openServerFigures(feed: ProcessFeed | null, env: Env, open: ClosingStack) {
  const own = new Map<string, () => unknown>();
  let others: readonly { readonly live: boolean; readonly body: Readonly<Record<string, unknown>> }[] = [];
  let last = Buffer.alloc(0);

  async function publish(): Promise<void> {
    const body = Object.fromEntries(Array.from(own, ([name, read]) => [name, read()]));
    const bytes = serialize(body);
    if (!bytes.equals(last)) await feed?.publish(bytes);
    last = bytes;
  }

  function read(): void {
    others = (feed?.published() ?? []) as typeof others;
  }

  if (feed) {
    feed.on(FIGURES, publish);
    const turn = async () => {
      await publish();
      read();
    };
    const failure = 'the figures of this process could not be published';
    open.use(openRepeater(turn, { ...env, pause: INTERVAL, pauseFirst: true, failure }));
    open.use({ close: publish });
  }

  return {
    /** Returns a function for what the other processes have published; `former`: what remains of those that have ended. */
    share<Figure>(
      name: string,
      read: () => Figure,
      former: (figure: Figure) => Figure | null = (figure) => figure,
    ): () => readonly Figure[] {
      own.set(name, read);
      return () =>
        others.flatMap(({ live, body }) => {
          if (!(name in body)) return [];
          const figure = body[name] as Figure;
          const shown = live ? figure : former(figure);
          // A figure may be a list.
          return shown === null ? [] : [shown];
        });
    },
    /** Resolves when `others` are as they were after the call. */
    async refresh(): Promise<void> {
      try {
        if (feed?.hasOthers()) await feed.ask(FIGURES);
      } catch (err) {
        // On a full disk, say: then they are as they were a moment ago.
        env.log.debug({ err }, 'the figures of other processes could not be asked for');
      }
      read();
    },
  };
}

export const nothing = () => null;

/** What all processes have: the map servers that they ask, and what they count. */
export function shareCounts({ share }: ServerFigures, { limiter, tallies }: CountedServices) {
  return {
    counters: share('counters', () => tallies.counters.all()),
    activity: share('activity', () => tallies.activity.all()),
    upstreams: share('upstreams', limiter.report, (hosts) => hosts.map(withoutRequests)),
  };
}

function withoutRequests(host: UpstreamStatus): UpstreamStatus {
  const none = { inFlight: 0, waiting: { interactive: 0, task: 0 }, requestsPerSecond: 0 };
  return { ...host, ...none, state: 'healthy', failuresInARow: 0 };
}

/** Counts are summed, states are of the first process, unless another has found the host failing. */
export function mergeUpstreams(all: readonly (readonly UpstreamStatus[])[]): readonly UpstreamStatus[] {
  const hosts = new Map<string, UpstreamStatus>();
  for (const status of all.flat()) {
    const known = hosts.get(status.host);
    hosts.set(status.host, known ? mergeHost(known, status) : status);
  }
  return [...hosts.values()];
}

export function mergeHost(a: UpstreamStatus, b: UpstreamStatus): UpstreamStatus {
  const worse = a.state === 'healthy' && b.state !== 'healthy' ? b : a;
  return {
    ...worse,
    inFlight: a.inFlight + b.inFlight,
    waiting: {
      interactive: a.waiting.interactive + b.waiting.interactive,
      task: a.waiting.task + b.waiting.task,
    },
    requestsPerSecond: a.requestsPerSecond + b.requestsPerSecond,
    latency: worse.latency ?? a.latency ?? b.latency,
    budget: worse.budget && { ...worse.budget, used: Math.max(a.budget?.used ?? 0, b.budget?.used ?? 0) },
    requests: a.requests + b.requests,
    answerSeconds: a.answerSeconds + b.answerSeconds,
    refused: a.refused + b.refused,
    errors: sumRecords([a.errors, b.errors]),
    failuresInARow: Math.max(a.failuresInARow, b.failuresInARow),
    lastFailure: (a.lastFailure?.at ?? 0) >= (b.lastFailure?.at ?? 0) ? a.lastFailure : b.lastFailure,
  };
}

export function sumRecords<Name extends string>(all: readonly Readonly<Record<Name, number>>[]) {
  const sums: Record<string, number> = {};
  for (const record of all) {
    for (const [name, value] of Object.entries<number>(record)) sums[name] = (sums[name] ?? 0) + value;
  }
  return sums as Record<Name, number>;
}
