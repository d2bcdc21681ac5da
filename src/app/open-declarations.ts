import { openServiceSettings } from '../catalog/catalog-entries.ts';
import { layersAbove } from '../catalog/tile-fates.ts';
import { createTileRecords } from '../catalog/tile-records.ts';
import type { ProcessFeed } from '../db/process-feed.ts';
import type { ServiceDescription } from '../domain/service-description.ts';
import type { Clock } from '../lib/clock.ts';
import type { NodeServices } from './open-node-services.ts';
import { CATALOG } from './share-changes.ts';

interface DeclarationParts {
  readonly clock: Clock;
  /** Of the configuration file. */
  readonly service: ServiceDescription;
  /** Null where there are no other processes. */
  readonly feed: ProcessFeed | null;
}

export type Declarations = Awaited<ReturnType<typeof openDeclarations>>;

/** Declared layers and grid sets, kept in step among the processes of this node. */
export async function openDeclarations(services: NodeServices, parts: DeclarationParts) {
  const { catalog, events, documents } = services;
  const { clock, feed } = parts;
  const { entries, declared } = documents;
  const records = createTileRecords({ entries, catalog, clock });
  const redeclared = await records.declareAll();
  await declared.refresh();
  const service = await openServiceSettings(entries, parts.service);

  /** Resolves when every process of this server has applied the change. */
  async function announce(): Promise<void> {
    await feed?.ask(CATALOG);
  }

  /** With those that are drawn from them. */
  async function outdate(layers: readonly string[]): Promise<void> {
    const all = layers.length > 0 ? [...layers, ...(await layersAbove(catalog, layers))] : [];
    for (const layer of all) {
      events.emit({ type: 'outdated', layer, places: null, at: clock.now() });
    }
  }

  return {
    ...documents,
    reader: await documents.reader(),
    records,
    /** Layers that are not as they were when the server ended. */
    redeclared,
    service,
    announce,
    outdate,
    /** Takes up what another node, or another process of this server, has declared. */
    async refresh(from: 'node' | 'process' = 'node'): Promise<void> {
      if (!(await declared.refresh())) return;
      await service.refresh();
      if (from === 'node') await announce();
    },
  };
}
