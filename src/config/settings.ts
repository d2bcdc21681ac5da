import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { GridSetBook } from '../domain/grid-set-book.ts';
import type { SourceSettings, StoreSettings, UpstreamSettings } from './driver-schemas.ts';
import type { SettingsDocument } from './settings-schema.ts';

/** Everything the application is told, checked and complete. */
export interface Settings {
  readonly server: SettingsDocument['server'];
  /** Absolute path. */
  readonly data: string;
  readonly database: string | null;
  readonly log: SettingsDocument['log'];
  readonly memoryTierBytes: number;
  readonly stores: Readonly<Record<string, StoreSettings>>;
  /** By host and port, e.g. `127.0.0.1:8090`. */
  readonly upstreams: Readonly<Record<string, UpstreamSettings>>;
  readonly gridSets: GridSetBook;
  readonly layers: readonly LayerDeclaration<SourceSettings>[];
}
