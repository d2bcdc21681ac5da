import { serialize } from 'node:v8';
import type { ProcessFeed } from '../db/process-feed.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';

/** The channel on which a process asks all others to publish their figures. */
const FIGURES = 'figures';
/** Milliseconds between publications that no process has asked for; a killed process loses its figures since the last. */
const INTERVAL = 5000;

export type ServerFigures = ReturnType<typeof openServerFigures>;

/** Figures that are shown as sums over the processes of a server, whichever process is queried. */
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
    /** Returns a function for the figures of all processes, its own first. `former`: what still counts of an ended one. */
    share<Figure>(
      name: string,
      read: () => Figure,
      former: (figure: Figure) => Figure | null = (figure) => figure,
    ): () => readonly Figure[] {
      own.set(name, read);
      return () => {
        const published = others.filter(({ body }) => name in body);
        const shown = published.map(({ live, body }) => {
          const figure = body[name] as Figure;
          return live ? figure : former(figure);
        });
        return [read(), ...shown.filter((figure) => figure !== null)];
      };
    },
    /** Resolves when `others` are at least as recent as the call. */
    async refresh(): Promise<void> {
      try {
        await feed?.ask(FIGURES);
      } catch (err) {
        // For example on a full disk: the latest published figures are shown.
        env.log.debug({ err }, 'could not query the figures of other processes');
      }
      read();
    },
  };
}
