import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { started } from '../../scripts/steps.mjs';
import type { PictureName } from './pictures.ts';

export interface Replay {
  /** By default one picture for each size. */
  readonly picture?: PictureName;
  /** The last one. */
  readonly zoom?: number;
  readonly delayMs: number;
}

export interface UpstreamFigures {
  /** Since `replay` was called. */
  readonly requests: number;
  /** The part of the time from the first request to the last response in which no request was under way. */
  readonly idleShare: number;
  /** Since its start. */
  readonly processorMs: number;
}

/** A WMS in a process of its own, so that its cost is not part of the measurement. It replays pictures from memory. */
export async function openReplayUpstream(replay: Replay = { delayMs: 0 }) {
  const server = await started(fork(fileURLToPath(new URL('./replay-server.ts', import.meta.url))));
  const send = async <Reply>(message: Replay | 'figures') => {
    server.send(message);
    return (await once(server, 'message'))[0] as Reply;
  };
  const [url] = (await once(server, 'message')) as [string];
  await send(replay);
  return {
    url,
    /** Creates missing pictures. Resolves to the address of MapServer itself if it draws them. */
    replay: (next: Replay) => send<string | null>(next),
    figures: () => send<UpstreamFigures>('figures'),
    async close(): Promise<void> {
      const end = once(server, 'exit');
      server.disconnect();
      await end;
    },
  };
}
