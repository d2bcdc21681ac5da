import type { Settings } from '../config/settings.ts';
import type { Database } from '../db/database.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { HttpProcesses } from '../http/processes/http-processes.ts';
import { forgetEverywhere } from '../http/processes/primary-part.ts';
import type { Forgotten } from '../http/processes/process-messages.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openNodeNews } from '../nodes/node-news.ts';
import type { NodeRegistry } from '../nodes/node-registry.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { TILE_NEWS, type TileStore } from '../storage/tile-store.ts';
import { isShared } from './join-nodes.ts';
import type { RoadSurroundings } from './open-road.ts';

export interface FollowOptions {
  readonly settings: Settings;
  readonly database: Database;
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly pipeline: TilePipeline;
  readonly events: TileEvents;
  readonly registry: NodeRegistry;
  /** Takes up in this node what has been declared elsewhere. */
  readonly refreshCatalog: () => Promise<void>;
  readonly processes: HttpProcesses | undefined;
}

/** How this node keeps up with the others, and they with it. */
export async function followNodes(
  options: FollowOptions,
  { clock, log }: RoadSurroundings,
  open: ClosingStack,
) {
  const { settings, database, registry, processes, events } = options;
  const shared = isShared(settings);
  let made = 0;
  let heard = 0;
  const others = {
    forget(forgotten: Forgotten) {
      made++;
      processes?.forget(forgotten);
    },
  };
  const alone = !shared && !processes;
  const pipeline = alone ? options.pipeline : forgetEverywhere(options.pipeline, events, others);
  const takeUp = createTakeUp(options, pipeline);
  const staleMs = settings.memoryTierStaleSeconds * 1000;
  const tools = { database, registry, takeUp, channels: [TILE_NEWS], staleMs, clock, log };
  const news = shared ? open.use(await openNodeNews(tools)) : null;
  if (news) pipeline.guardCopies(news);
  return {
    /** What it forgets, replaces or removes others forget too. */
    pipeline,
    /** Null where there are no other nodes. */
    news,
    /** Resolves when processes have told what they counted; or when they and all nodes obey every change made before. */
    async settled(what: 'counts' | 'changes'): Promise<void> {
      await processes?.settle();
      if (what === 'counts' || !news) return;
      for (const mine = made; heard < mine; ) {
        const upTo = made;
        await news.heardByAll();
        heard = Math.max(heard, upTo);
      }
    },
  };
}

function createTakeUp(
  { stores, refreshCatalog, processes }: FollowOptions,
  pipeline: Pick<TilePipeline, 'changedElsewhere'>,
): () => Promise<void> {
  const cursors = new Map<string, number>();
  return async () => {
    await refreshCatalog();
    for (const [name, store] of stores) {
      const told = await store.news?.(cursors.get(name) ?? null);
      if (!told) continue;
      for (const one of told.news) pipeline.changedElsewhere(one);
      cursors.set(name, told.cursor);
    }
    await processes?.settle();
  };
}
