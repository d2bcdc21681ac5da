import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { PictureName } from './pictures.ts';

export interface Replayed {
  readonly picture: PictureName;
  /** The last one. */
  readonly zoom: number;
  readonly delayMs: number;
}

export interface UpstreamFigures {
  /** Since `replay` was called. */
  readonly requests: number;
  /** Of the time between the first request and the last answer, the share in which no request was under way. */
  readonly idleShare: number;
  /** Since its start. */
  readonly processorMs: number;
}

export interface ReplayUpstream {
  readonly url: string;
  /** Makes the pictures that are not there yet. Resolves to where MapServer itself can be asked, if it draws them. */
  replay(what: Replayed): Promise<string | null>;
  figures(): Promise<UpstreamFigures>;
  close(): Promise<void>;
}

/**
 * A WMS in a process of its own, so that its cost is not part of what is measured. Until `replay` is called it
 * sends one picture for each size.
 */
export async function openReplayUpstream(): Promise<ReplayUpstream> {
  const server = fork(fileURLToPath(new URL('./replay-server.ts', import.meta.url)));
  const answer = async <Response>() => (await once(server, 'message'))[0] as Response;
  const { url } = await answer<{ readonly url: string }>();
  return {
    url,
    async replay(what) {
      server.send(what);
      return (await answer<{ readonly mapServerUrl: string | null }>()).mapServerUrl;
    },
    async figures() {
      server.send(null as never);
      return await answer<UpstreamFigures>();
    },
    async close() {
      const ended = once(server, 'exit');
      server.disconnect();
      await ended;
    },
  };
}
