import { existsSync } from 'node:fs';
import { noIndex } from '../index/index-failure.ts';
import { type IndexFile, type IndexOptions, indexPath, openIndexFile } from '../index/index-file.ts';
import { greatestSegment } from './segment-files.ts';

/** As `openIndexFile`, but creates none beside segments: their index is lost. */
export function openSegmentIndex(root: string, options: IndexOptions): IndexFile {
  const isThere = () => existsSync(indexPath(root));
  // Another process may create both between the first two looks.
  if (!isThere() && greatestSegment(root) > 0 && !isThere()) throw noIndex();
  return openIndexFile(root, options);
}
