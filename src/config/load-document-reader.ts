import type { Settings } from './settings.ts';

/** With the schemas, which take a process a fifth of its start: only where there are documents to be read. */
export function documentReaderOf(settings: Pick<Settings, 'areas' | 'groups' | 'stores' | 'adoptFolders'>) {
  return async () => (await import('./document-reader.ts')).createDocumentReader(settings);
}
