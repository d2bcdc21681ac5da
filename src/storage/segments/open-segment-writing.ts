import { randomUUID } from 'node:crypto';
import { blockingly } from '../index/index-failure.ts';
import { preparePackChanges } from '../index/pack-changes.ts';
import { openSegmentIndex } from './open-segment-index.ts';
import { Reserve } from './reserve.ts';
import { SegmentBytes } from './segment-bytes.ts';
import { SegmentUpkeep } from './segment-upkeep.ts';
import { SegmentWriting } from './segment-writing.ts';

export interface WriterData {
  readonly root: string;
  readonly sweepBytesPerSecond: number;
  readonly segmentBytes?: number;
}

/** Pages of the index's log after which the writer copies them into the file: 16 MiB. */
const CHECKPOINT_PAGES = 4000;

export function openSegmentWriting({ root, sweepBytesPerSecond, segmentBytes }: WriterData): SegmentWriting {
  const reserve = new Reserve(root);
  const open = () => openSegmentIndex(root, { timeoutMs: 0, checkpointPages: CHECKPOINT_PAGES });
  const db = blockingly(() => reserve.use(open));
  reserve.refill();
  const writer = randomUUID();
  const bytes = new SegmentBytes(db, root, writer, Date.now, segmentBytes);
  const changes = preparePackChanges(db);
  const upkeep = new SegmentUpkeep({ db, root, writer, bytes, changes, sweepBytesPerSecond });
  return new SegmentWriting(db, { bytes, upkeep, reserve });
}
