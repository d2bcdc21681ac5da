import type { ServiceDescription } from '../domain/service-description.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { Clock } from '../lib/clock.ts';
import type { ChangeableCatalog } from './catalog.ts';
import { type CatalogEntries, openServiceSettings } from './catalog-entries.ts';
import type { DeclaredEntries } from './declared-entries.ts';
import { layersAbove } from './tile-fates.ts';
import { createTileRecords } from './tile-records.ts';

interface DeclarationParts<Source> {
  readonly catalog: ChangeableCatalog<Source>;
  readonly entries: CatalogEntries;
  readonly declared: DeclaredEntries<Source>;
  readonly events: TileEvents;
  /** Resolves when every process of this server has refreshed its catalog. */
  readonly announceHere: () => Promise<void>;
  /** The same, for all nodes. */
  readonly announce: () => Promise<void>;
  readonly settings: { readonly service: ServiceDescription };
  readonly clock: Clock;
}

export type Declarations = Awaited<ReturnType<typeof openDeclarations>>;

/**
 * Declared layers and grid sets, kept in step among the processes of this node. The database has the declarations
 * (`entries`); `declared.refresh` applies their changes to the catalog of this process, and is repeated in each other
 * one.
 */
export async function openDeclarations<Source>(parts: DeclarationParts<Source>) {
  const { catalog, entries, declared, events, announceHere, clock } = parts;
  const records = createTileRecords({ entries, catalog, clock });
  const redeclared = await records.declareAll();
  await declared.refresh();
  const service = await openServiceSettings(entries, parts.settings.service, parts.announce);
  return {
    records,
    /** Layers that have changed since the server last ran. */
    redeclared,
    service,
    /** Reports all tiles of these layers, and of layers drawn from them, as outdated. */
    async outdate(layers: readonly string[]): Promise<void> {
      const all = layers.length > 0 ? [...layers, ...(await layersAbove(catalog, layers))] : [];
      for (const layer of all) events.emit({ type: 'outdated', layer, places: null, at: clock.now() });
    },
    /** Applies declarations of another node, or of another process of this server. */
    async refreshCatalog(from: 'node' | 'process' = 'node'): Promise<void> {
      if (!(await declared.refresh())) return;
      await service.refresh();
      if (from === 'node') await announceHere();
    },
  };
}
