import type { Store } from '../store.ts';
import type { RebuildTools, StoreTools } from '../store-driver.ts';
import type { GuardTools } from './object-guard.ts';
import type { ObjectStore } from './object-store.ts';
import type { PackStoreOptions } from './pack-store-options.ts';

/** Opens the bucket of these options. Throws `config-invalid` if it is missing. */
export type OpenObjects<Options> = (options: Options, tools: GuardTools) => Promise<ObjectStore>;

/** The common part of drivers of object stores; `load` imports the client's code. */
export function packDriver<Options extends PackStoreOptions & { readonly type: string }>(
  load: () => Promise<OpenObjects<Options>>,
) {
  return {
    place: 'shared' as const,

    async open(options: Options, tools: StoreTools): Promise<Store> {
      const [{ openPackStore }, openObjects] = await Promise.all([import('./pack-store.ts'), load()]);
      const openBucket = () => openObjects(options, tools);
      const copies = options.cache && !tools.readOnly ? await tools.openCopies() : null;
      try {
        const packs = await openPackStore(options, { ...tools, openBucket, copies });
        const close = () => packs.close().then(() => copies?.close());
        return { ...packs, close };
      } catch (error) {
        await copies?.close();
        throw error;
      }
    },

    async rebuildIndex(options: Options, tools: RebuildTools) {
      const [{ rebuildIndex }, openObjects] = await Promise.all([import('./rebuild-index.ts'), load()]);
      return rebuildIndex(options, { ...tools, openBucket: () => openObjects(options, tools) });
    },
  };
}
