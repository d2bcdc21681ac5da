import type { ExportOrder } from '../export/export-order.ts';
import type { ExportOptions } from '../export/export-tiles.ts';
import type { AreaFields } from '../http/wire/values.ts';
import { messageKind } from '../lib/channel.ts';
import type { ExportState } from '../nodes/export-book.ts';

/** `area` as in the body of a task. */
export type AreaOrder = ExportOrder & AreaFields;
export type ExportWork = AreaOrder & Pick<ExportOptions, 'target'>;

/** An export whose file is to be kept for downloads. */
export type KeptExport = ExportWork & {
  /** What the file is called where it is kept. */
  readonly name: string;
  /** The store beside whose tiles it is kept; one that is not shared leaves it in the folder of the target. */
  readonly store: string;
  /** Of a file that an earlier attempt finished, if it was here; null: none did. */
  readonly bytes: number | null;
};
export type KeptProgress = Pick<ExportState, 'tiles' | 'expected' | 'bytes'>;

/** To a task process, and what it tells meanwhile. */
export const EXPORT = messageKind<KeptExport, void>('export');
export const EXPORT_PROGRESS = messageKind<KeptProgress>('export-progress');
