import type { ProcessFeed } from '../db/process-feed.ts';
import { boundsAround } from '../domain/bounds.ts';
import type { TileEvent } from '../domain/tile-events.ts';
import { BLOCK_SIZE, tileSetId } from '../domain/tile-key.ts';
import type { TileChange } from '../storage/store.ts';
import { type Membership, TILES } from './membership.ts';

/** Announces all tiles that a worker stores, in a rectangle for each block: other processes may have older ones in memory. */
export function createStoredTiles(feed: ProcessFeed | null, peers: Membership['peers']) {
  const changes = new Map<string, Extract<TileChange, { kind: 'tiles' }>>();
  let [stored, obeyed] = [0, 0];

  async function post(): Promise<void> {
    for (const change of changes.values()) feed?.post(TILES, change);
    changes.clear();
    await feed?.posted();
  }

  return {
    post,
    /** As `LeaseRunOptions.announceStored`. */
    async announce(): Promise<void> {
      const upTo = stored;
      await post();
      if (obeyed < upTo) await peers?.waitForAllNodes();
      obeyed = Math.max(obeyed, upTo);
    },
    add(event: TileEvent): void {
      if (event.type !== 'stored') return;
      const { set, z, rect } = event;
      const [column, row] = [Math.floor(rect.minX / BLOCK_SIZE), Math.floor(rect.minY / BLOCK_SIZE)];
      const block = `${tileSetId(set)} ${z} ${column} ${row}`;
      const joined = boundsAround([rect, changes.get(block)?.rect ?? rect]);
      changes.set(block, { kind: 'tiles', set, z, rect: joined });
      stored++;
    },
    close: post,
  };
}
