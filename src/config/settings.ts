import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { GridSetRegistry } from '../domain/grid-set.ts';
import type { LayerGroups } from '../domain/layer.ts';
import type { NamedArea } from '../domain/named-area.ts';
import type { ServiceDescription } from '../domain/service-description.ts';
import type { SourceSettings } from '../sources/drivers.ts';
import type { OutboundProxies } from '../sources/upstream/outbound-proxy.ts';
import type { ScheduleDeclaration } from '../tasks/schedules/schedule.ts';
import type { SettingsDocument } from './settings-schema.ts';

/** All settings of the application, checked and complete. Paths are absolute. */
export interface Settings
  extends Readonly<
    Omit<SettingsDocument, 'access' | 'areas' | 'groups' | 'service' | 'gridSets' | 'layers'>
  > {
  /** `adminPassword` is for the first administrator, if there is none yet; null: a password is generated. */
  readonly access: SettingsDocument['access'] & { readonly adminPassword: string | null };
  readonly memoryTierBytes: number;
  /** By name. */
  readonly areas: ReadonlyMap<string, NamedArea>;
  readonly groups: LayerGroups;
  readonly service: ServiceDescription;
  readonly gridSets: GridSetRegistry;
  /** The file's form of those that it declares. */
  readonly gridSetDocuments: ReadonlyMap<string, unknown>;
  readonly layers: readonly LayerDeclaration<SourceSettings>[];
  readonly schedules: readonly ScheduleDeclaration[];
  readonly proxies: OutboundProxies;
}
