import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { misconfigured } from '../../domain/errors.ts';
import { guardFreeSpace } from '../guard-free-space.ts';
import type { BackupTools, RebuildTools, StoreTools } from '../store-driver.ts';
import { type SegmentStoreOptions, segmentStoreOptions } from './segment-store-options.ts';

/** What stores of before 0.3 have in their folder. */
const FORMER_FILES = ['layers', 'generations.sqlite', 'tickets.sqlite'];

/** The type has kept its name: configurations contain it. */
export const segmentsDriver = {
  type: 'bundle',
  options: segmentStoreOptions,
  place: 'disk',
  shown: [],
  geowebcacheName: 'FileBlobStore',
  async open(options: SegmentStoreOptions, tools: StoreTools) {
    refuseFormerStore(tools.root);
    const { openSegmentStore } = await import('./segment-store.ts');
    const store = await openSegmentStore(options, tools);
    return tools.readOnly
      ? store
      : guardFreeSpace(store, { minFreePercent: options.minFreePercent, ...tools });
  },
  async rebuildIndex(_: SegmentStoreOptions, tools: RebuildTools) {
    refuseFormerStore(tools.root);
    const { rebuildSegmentIndex } = await import('./rebuild-segment-index.ts');
    return rebuildSegmentIndex(tools);
  },
  async backUp(tools: BackupTools) {
    refuseFormerStore(tools.root);
    const { backUpSegments } = await import('./back-up-segments.ts');
    return backUpSegments(tools);
  },
} as const;

function refuseFormerStore(root: string): void {
  const former = FORMER_FILES.find((name) => existsSync(join(root, name)));
  if (!former) return;
  throw misconfigured(
    `${root} contains tiles of a version before 0.3 (${former}), which this version does not read. Remove the folder, or move it aside, and start again: the tiles are made again.`,
  );
}
