import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { misconfigured } from '../../domain/errors.ts';
import { whole } from '../../lib/schemas.ts';
import { guardFreeSpace } from '../guard-free-space.ts';
import type { BackupTools, RebuildTools, StoreTools } from '../store-driver.ts';

const segmentStoreOptions = z
  .strictObject({
    type: z.literal('bundle'),
    maxOpenSegments: whole(4, 4096)
      .default(256)
      .describe('Segments kept open for reading by each process. Each takes one file descriptor.'),
    sweepBytesPerSecond: z
      .int()
      .positive()
      .default(512 * 1024 ** 2)
      .describe('How fast the space of dropped tiles is given back to the file system.'),
    minFreePercent: z
      .number()
      .min(0)
      .max(50)
      .default(2)
      .describe(
        'Storing stops, and tiles are served uncached, while less of the disk or of its inodes is free.',
      ),
  })
  .describe('Keeps tiles in files below the data folder, with one index.');

type SegmentStoreOptions = z.infer<typeof segmentStoreOptions>;

/** Names in the folders of stores of versions before 0.3. */
const FORMER_FILES = ['layers', 'generations.sqlite', 'tickets.sqlite'];

/** The type is called `bundle` because existing configurations contain that name. */
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
