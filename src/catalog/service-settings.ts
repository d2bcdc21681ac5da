import { DEFAULT_SERVICE, type ServiceDescription } from '../domain/service-description.ts';
import { isRecord } from '../lib/value-path.ts';
import type { CatalogEntries } from './catalog-entries.ts';

/** What GeoWebCache calls global. */
export interface ServiceDocument {
  readonly service: ServiceDescription;
  /** Settings of GeoWebCache's that mean nothing here and are only given back, by name. */
  readonly remembered: Readonly<Record<string, string | number | boolean>>;
}

export interface ServiceSettings {
  /** The same object until it is changed. */
  readonly current: ServiceDocument;
  /** Durable when it returns. */
  change(change: Partial<ServiceDocument>, by: string): Promise<void>;
  /** Takes up what another node has changed. */
  refresh(): Promise<void>;
}

const PLACE = { kind: 'service', name: 'global' } as const;

export async function openServiceSettings(
  entries: Pick<CatalogEntries, 'get' | 'put'>,
): Promise<ServiceSettings> {
  const read = async () => documentOf((await entries.get(PLACE.kind, PLACE.name))?.document);
  let current = await read();
  return {
    async refresh() {
      current = await read();
    },
    get current() {
      return current;
    },
    async change(change, by) {
      const document = { ...current, ...change };
      await entries.put({ ...PLACE, document, aside: null, drops: [], changedBy: by });
      current = document;
    },
  };
}

function documentOf(kept: unknown): ServiceDocument {
  const { service = {}, remembered = {} } = isRecord(kept) ? (kept as Partial<ServiceDocument>) : {};
  return { service: { ...DEFAULT_SERVICE, ...service }, remembered };
}
