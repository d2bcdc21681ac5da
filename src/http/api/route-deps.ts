import type { Accounts } from '../../access/open-accounts.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { CatalogEditor } from '../../catalog/catalog-editor.ts';
import type { ServiceSettings } from '../../catalog/catalog-entries.ts';
import type { Deliveries } from '../../changes/deliveries/open-deliveries.ts';
import type { FollowService } from '../../changes/follow/open-follow.ts';
import type { ChangesService } from '../../changes/open-changes.ts';
import type { NodeRegistry } from '../../cluster/node-registry.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { Layer } from '../../domain/layer.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { UpstreamStatus } from '../../domain/upstream-status.ts';
import type { LayerState } from '../../pipeline/layer-activity.ts';
import type { QuotaService } from '../../quota/quota-service.ts';
import type { Exporter } from '../../tasks/exporter.ts';
import type { MassTruncation } from '../../tasks/mass-truncation.ts';
import type { TaskService } from '../../tasks/open-task-service.ts';
import type { ScheduleService } from '../../tasks/schedules/open-schedule-service.ts';
import type { SelectionWork } from '../../tasks/selection-work.ts';
import type { MetricsDeps } from '../metrics/metrics-routes.ts';
import type { WebAsset } from '../pages/web-assets.ts';
import type { ServiceDeps } from '../services/open-services.ts';
import type { SeriesDocument } from './series.ts';

/** The services that handlers call. `app.ts` provides them. */
export interface RouteDeps extends ServiceDeps {
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version' | 'gridSets'>;
  readonly editor: CatalogEditor;
  readonly imports: ImportDeps;
  readonly exports: Pick<Exporter, 'read' | 'tidy'>;
  readonly service: ServiceSettings;
  readonly readiness: (signal: AbortSignal) => Promise<string | null>;
  readonly tasks: Omit<TaskService, 'close'>;
  readonly schedules: Omit<ScheduleService, 'takeOver' | 'close'>;
  readonly changes: Pick<ChangesService, 'list' | 'recent' | 'replay' | 'webhook'>;
  readonly follow: Pick<FollowService, 'list' | 'run' | 'passes' | 'followOf'>;
  readonly massTruncation: MassTruncation;
  readonly selections: SelectionWork;
  readonly quota: QuotaService;
  /** Every `host:port` in the settings of a source. */
  readonly hostsNamedIn: (settings: unknown) => ReadonlySet<string>;
  /** The latest activity of a layer; from memory, since a list needs it for thousands of layers. */
  readonly layerState: (name: string) => LayerState;
  readonly traffic: TileTraffic;
  readonly about: {
    readonly version: string;
    /** Milliseconds since 1970. */
    readonly startedAt: number;
    /** For outbound requests, without passwords. */
    readonly proxies: { readonly http: string | null; readonly https: string | null };
  };
  readonly nodes: Pick<NodeRegistry, 'list'>;
  readonly upstreams: HostControl;
  readonly rest: RestSettings;
  readonly metrics: Omit<MetricsDeps, 'traffic' | 'tasks' | 'changes' | 'quota' | 'deliveries'>;
  readonly accounts: Accounts;
  readonly assets: readonly WebAsset[];
  readonly deliveries: Pick<Deliveries, 'list' | 'counts' | 'targets' | 'sendTest'>;
}

/** State of map servers, by `host:port`. */
interface HostControl {
  status(host: string): UpstreamStatus;
  /** Resolves when it is durable and this node sends no further request. */
  pause(host: string, by: string): Promise<void>;
  resume(host: string): Promise<void>;
  /** Ends the breaker's pause: the next request is its probe. */
  tryNow(host: string): void;
}

/** Settings that GeoWebCache's resources show. */
interface RestSettings {
  readonly stores: readonly StoreDescription[];
  readonly memoryTierBytes: number;
  /** Path; empty: there is no file. */
  readonly configFile: string;
  readonly reload: () => Promise<Reloaded>;
}

/** Tile responses of all processes of the server. */
interface TileTraffic extends Pick<MetricsDeps['traffic'], 'counts'> {
  series(): SeriesDocument;
}

export interface ImportDeps {
  /** Reads the capabilities of a WMS or WMTS; `only`: names of layers, null: all. */
  readonly readService: (
    address: string,
    only: readonly string[] | null,
    signal: AbortSignal,
  ) => Promise<{
    readonly layers: readonly object[];
    readonly gridSets: readonly object[];
    readonly missing: readonly object[];
    readonly withoutGridSet: readonly object[];
    readonly report: { readonly entries: readonly object[] };
  }>;
  /** The layer that a document would declare. Throws `request-invalid`. */
  readonly previewLayer: (document: unknown) => Layer;
  /** The grid set that a document would declare. Throws `request-invalid`. */
  readonly previewGridSet: (document: unknown) => GridSet;
  /** A tile of an undeclared layer. It is not stored. */
  readonly previewTile: (
    document: unknown,
    gridSet: string,
    tile: TileIndex,
    signal: AbortSignal,
  ) => Promise<{ readonly bytes: Buffer; readonly contentType: string }>;
}

/** A store for GeoWebCache's clients, without secrets. */
export interface StoreDescription {
  readonly name: string;
  /** In GeoWebCache's words, e.g. `FileBlobStore`. */
  readonly kind: string;
  /** Absolute path; null if tiles are not stored in a folder. */
  readonly folder: string | null;
  /** Further options of its driver that GeoWebCache has too, e.g. `bucket`. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
}

/** The result of reloading the configuration file. */
export type Reloaded =
  | {
      readonly layers: number;
      /** Names of added, changed and removed layers and grid sets. */
      readonly changed: readonly string[];
      /** Hosts whose limits or permissions were added, changed or removed. */
      readonly upstreams: readonly string[];
      /** Settings that differ and need a restart. */
      readonly restart: readonly string[];
    }
  /** The file is invalid: nothing has changed. */
  | { readonly problems: readonly string[] };
