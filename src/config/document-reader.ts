import type { DocumentReader } from '../catalog/declared-entries.ts';
import { isRecord } from '../lib/value-path.ts';
import type { SourceSettings } from './driver-schemas.ts';
import { readGridSetDocument, readLayerDocument } from './read-declaration.ts';
import { MASK, maskSecrets } from './secrets.ts';
import type { Settings } from './settings.ts';

const NO_PATHS: ReadonlySet<string> = new Set();

/** Reads what is declared over the network as the configuration file would be read. */
export function createDocumentReader({
  stores,
  adoptFolders,
}: Pick<Settings, 'stores' | 'adoptFolders'>): DocumentReader<SourceSettings> {
  return {
    layer(document, catalog) {
      const byName = {
        get: (name: string) => catalog.declaration(name) ?? undefined,
        keys: () => catalog.layerNames(),
      };
      return readLayerDocument(document, { gridSets: catalog.gridSets, stores, byName }, adoptFolders);
    },
    gridSet: readGridSetDocument,
    shown: (document) => maskSecrets(document, NO_PATHS),
    restored: restoreSecrets,
  };
}

/** A hidden value that comes back stands for what was hidden in its place. */
function restoreSecrets(document: unknown, former: unknown): unknown {
  if (document === MASK && typeof former === 'string') return former;
  if (typeof document === 'string' && typeof former === 'string' && document.includes(MASK)) {
    return maskSecrets(former, NO_PATHS) === document ? former : document;
  }
  if (Array.isArray(document)) {
    return document.map((item, index) =>
      restoreSecrets(item, Array.isArray(former) ? former[index] : undefined),
    );
  }
  if (!isRecord(document)) return document;
  const before = isRecord(former) ? former : {};
  return Object.fromEntries(
    Object.entries(document).map(([key, item]) => [key, restoreSecrets(item, before[key])]),
  );
}
