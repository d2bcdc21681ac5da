import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { GridSetBook } from '../domain/grid-set-book.ts';
import type { ScheduleDeclaration } from '../tasks/schedules/schedule.ts';
import type { SourceSettings, StoreSettings, UpstreamSettings } from './driver-schemas.ts';
import type { SettingsDocument } from './settings-schema.ts';

export interface AccessSettings {
  readonly enabled: boolean;
  /** For the first administrator, where there is none yet; null: one is made up. */
  readonly adminPassword: string | null;
}

/** Everything the application is told, checked and complete. */
export interface Settings {
  /** Paths of files are absolute. */
  readonly server: SettingsDocument['server'];
  /** Absolute path. */
  readonly data: string;
  readonly database: string | null;
  readonly node: string | null;
  readonly access: AccessSettings;
  readonly log: SettingsDocument['log'];
  readonly memoryTierBytes: number;
  readonly memoryTierStaleSeconds: number;
  readonly tasks: SettingsDocument['tasks'];
  readonly stores: Readonly<Record<string, StoreSettings>>;
  /** By host and port, e.g. `127.0.0.1:8090`. */
  readonly upstreams: Readonly<Record<string, UpstreamSettings>>;
  /** Absolute paths. */
  readonly adoptFolders: readonly string[];
  readonly gridSets: GridSetBook;
  /** The file's form of those that it declares. */
  readonly gridSetDocuments: ReadonlyMap<string, unknown>;
  readonly layers: readonly LayerDeclaration<SourceSettings>[];
  readonly schedules: readonly ScheduleDeclaration[];
}
