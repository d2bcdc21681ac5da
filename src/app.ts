import { existsSync } from 'node:fs';
import { access as accessFile, constants } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Accounts, openAccounts } from './access/open-accounts.ts';
import { createFileApplier } from './app/apply-config-file.ts';
import type { InitialPassword } from './app/child-life.ts';
import { nodeName, taskSettings } from './app/node-settings.ts';
import { openFeeds } from './app/open-feeds.ts';
import { openNode } from './app/open-node.ts';
import { openPreviews } from './app/open-previews.ts';
import { describeStores } from './app/open-stores.ts';
import { databaseOf, type TileServices } from './app/open-tile-services.ts';
import type { ServerEnv } from './app/open-workers.ts';
import { opened } from './app/opened.ts';
import { createTileRefresh } from './app/refresh-tile.ts';
import {
  mergeHost,
  mergeUpstreams,
  nothing,
  openServerFigures,
  type ServerFigures,
  shareCounts,
  sumRecords,
} from './app/server-figures.ts';
import type { NodeRole } from './cluster/node-registry.ts';
import { readVersion } from './config/environment.ts';
import type { LoadedSettings } from './config/load-settings.ts';
import type { Settings } from './config/settings.ts';
import { openDatabase } from './db/open-database.ts';
import { misconfigured } from './domain/errors.ts';
import { openAccessLog } from './http/access-log.ts';
import type { ImportDeps } from './http/api/route-deps.ts';
import {
  type Access,
  createAccountAccess,
  createLoopbackAccess,
  proxyHeadersOf,
} from './http/auth/access.ts';
import { isLoopbackHost } from './http/auth/peer.ts';
import { openHttpServer } from './http/http-app.ts';
import { openEventLoopWatch, processUsage } from './http/metrics/process-metrics.ts';
import { listWebAssets, type WebAsset } from './http/pages/web-assets.ts';
import type { HttpServer } from './http/server.ts';
import type { ClosingStack } from './lib/closing-stack.ts';
import { Counters } from './lib/counters.ts';
import type { Logger } from './lib/logger.ts';
import { type LayerState, type LayerStats, laterOf } from './pipeline/layer-activity.ts';
import { createMapComposer } from './pipeline/map-composer.ts';
import type { TilePipeline } from './pipeline/tile-pipeline.ts';
import { openMapThread } from './raster/open-map-thread.ts';
import { hostsNamedIn } from './sources/upstream/address-guard.ts';
import { shownProxies } from './sources/upstream/outbound-proxy.ts';
import { openProxiedFetch } from './sources/upstream/proxied-fetch.ts';
import { checkStore } from './storage/check-store.ts';

export interface App {
  /** Where it listens, with a slash at the end. */
  readonly url: string;
  readonly initialPassword: InitialPassword | null;
  /** Applies reloaded settings and returns those that need a restart. Throws and changes nothing if they are invalid. */
  applySettings(loaded: LoadedSettings): Promise<readonly string[]>;
  /** Answers requests in flight, then closes everything in reverse order. */
  close(): Promise<void>;
}

type Node = Awaited<ReturnType<typeof openNode>>;

/** Opens, connects and starts all parts, and closes them in reverse order. */
export function openApp(settings: Settings, env: ServerEnv): Promise<App> {
  return opened(async (open) => {
    const { file } = env;
    const performsTasks = taskSettings(settings).workers > 0;
    const roles: readonly NodeRole[] = performsTasks ? ['serve', 'worker'] : ['serve'];
    const node = await openNode(settings, env, roles, open);
    const { accounts, initialPassword, ...auth } = await openAuth(settings, node, env, open);
    const { catalog } = node.parts;
    let server: HttpServer | null = null;
    const renewCertificate = async () => server?.reload();
    const { supervisor } = node;
    const applier = createFileApplier({ file: file ?? null, catalog, ...node.fileTaker, renewCertificate });
    node.fileTaker.onFile(applier.reloadedElsewhere);
    const reload = async () => {
      const reloaded = await applier.reload();
      if (!('problems' in reloaded)) supervisor?.reloaded();
      return reloaded;
    };
    const figures = openServerFigures(node.feed, env, open);
    const deps = {
      ...env,
      ...node.parts,
      ...auth,
      ...(await openResponses(settings, node, accounts, figures, env, open)),
      accounts,
      rest: {
        stores: describeStores(settings),
        memoryTierBytes: settings.memoryTierBytes,
        configFile: file?.current.configFile ?? '',
        reload,
      },
    };
    if (node.feed) open.use(await node.feed.follow());
    server = open.use(await openHttpServer(deps, settings.server));
    const { url, port } = server.address;
    await node.registry.listening(nodeName(settings, port), url);
    return { url: server.address.url, initialPassword, applySettings: applier.applySettings };
  });
}

async function openAuth(settings: Settings, node: Node, env: ServerEnv, open: ClosingStack) {
  const { clock, log } = env;
  const { enabled, oidc, proxyLogin } = settings.access;
  const proxied = oidc && openProxiedFetch(settings.proxies);
  if (proxied) open.use(proxied);
  const fetching = proxied && { fetch: proxied.fetch };
  const { database } = node.services;
  const accounts = open.use(
    openAccounts({ database, dataFolder: settings.data, oidc, proxyLogin, clock, log, ...fetching }),
  );
  const isOwn = (header: string) => accounts.authenticator.isOwn(header);
  node.pipeline.guardCredentials(enabled ? isOwn : async () => false);
  await node.followKeys(accounts.readerKeys);
  const access = await openAccess(settings, accounts, log);
  const changes = await openFeeds(node, settings, accounts.audit, env, open);
  return { ...access, accounts, changes };
}

const AWAY = 'the database cannot be reached; cached tiles are served from memory, others are not stored';

async function openResponses(
  settings: Settings,
  node: Node,
  { readerKeys }: Accounts,
  figures: ServerFigures,
  { clock, log }: ServerEnv,
  open: ClosingStack,
) {
  const { services, pipeline, registry, stores, peers, flush, replaced, leads } = node;
  const { database, events, limiter, tallies } = services;
  const { counters } = tallies;
  const { share } = figures;
  const status = () => pipeline.status();
  const elsewhere = shareCounts(figures, services);
  const statusElsewhere = share('status', status, nothing);
  const cpuElsewhere = share('cpu', () => processUsage().cpuSeconds);
  const usageElsewhere = share('process', processUsage, nothing);
  const keysElsewhere = share('keys', () => readerKeys.figures());
  const isAway = () => peers?.isAway() ?? false;
  const { file, format } = settings.server.accessLog;
  const accessLog = file === null ? null : open.use(openAccessLog({ file, format }, { clock, log }));
  return {
    ...(accessLog && { accessLog }),
    ...shownActivity(tallies, elsewhere.activity, node),
    isAway,
    flush: (what: 'counts' | 'changes') => (what === 'counts' ? figures.refresh() : flush()),
    share,
    hostsNamedIn,
    nodes: registry,
    upstreams: {
      ...services.upstreams,
      status: (host: string) =>
        elsewhere
          .upstreams()
          .flat()
          .filter((other) => other.host === host)
          .reduce(mergeHost, services.upstreams.status(host)),
    },
    assets: await listPages(),
    imports: await openImports(services, pipeline, open),
    composer: createMapComposer(pipeline, open.use(openMapThread(log)).draw, clock),
    refresh: createTileRefresh({ pipeline, events, clock, flush, replaced }),
    about: { version: readVersion(), startedAt: clock.now(), proxies: shownProxies(settings.proxies) },
    metrics: {
      pipeline: { status: () => sumRecords([status(), ...statusElsewhere()]) },
      counters: {
        all() {
          const sum = new Counters();
          for (const count of [counters.all(), ...elsewhere.counters()].flat()) sum.add(count);
          return sum.all();
        },
      },
      upstreams: () => mergeUpstreams([limiter.report(), ...elsewhere.upstreams()]),
      eventLoop: open.use(openEventLoopWatch()),
      process: () => ({
        ...sumRecords([processUsage(), ...usageElsewhere()]),
        cpuSeconds: [processUsage().cpuSeconds, ...cpuElsewhere()].reduce((sum, seconds) => sum + seconds),
      }),
      node: { leads, isAway },
      readerKeys: { figures: () => sumKeys([readerKeys.figures(), ...keysElsewhere()].flat()) },
    },
    async readiness() {
      await accessFile(settings.data, constants.W_OK);
      if (peers?.isAway() && (await peers.mayShow())) return AWAY;
      await database.query.selectNoFrom((statement) => statement.lit(1).as('one')).execute();
      await Promise.all([...stores.values()].map(checkStore));
      return null;
    },
  };
}

/** What is remembered of layers in the memory of all processes. */
function shownActivity(
  { activity }: TileServices['tallies'],
  activityElsewhere: () => readonly (readonly LayerStats[])[],
  node: Node,
) {
  return {
    layerState(name: string) {
      const others = activityElsewhere().flatMap((all) => all.filter(({ layer }) => layer === name));
      const state = others.reduce(mergeActivity, activity.of(name));
      return { ...state, changedAt: laterOf(state.changedAt, node.parts.quota.changedAt(name)) };
    },
  };
}

function mergeActivity(state: LayerState, other: LayerStats): LayerState {
  const later = (other.lastFailure?.at ?? 0) > (state.lastFailure?.at ?? 0);
  return {
    ...state,
    changedAt: laterOf(state.changedAt, other.changedAt),
    failures: state.failures + other.failures,
    lastFailure: later ? other.lastFailure : state.lastFailure,
  };
}

function sumKeys(all: ReturnType<Accounts['readerKeys']['figures']>) {
  const sums = new Map<number, (typeof all)[number]>();
  for (const one of all) {
    const { answered = 0, refused = 0 } = sums.get(one.id) ?? {};
    sums.set(one.id, { ...one, answered: answered + one.answered, refused: refused + one.refused });
  }
  return [...sums.values()];
}

async function openImports(
  { catalog, documents, outside }: TileServices,
  pipeline: Pick<TilePipeline, 'read'>,
  open: ClosingStack,
): Promise<ImportDeps> {
  const reader = await documents.reader();
  const previews = open.use(openPreviews({ catalog, reader, pipeline, openSource: outside.openSource }));
  return {
    async readService(address, only, signal) {
      const { readCapabilities } = await import('./app/import-settings.ts');
      const { gridSets } = catalog.gridSets;
      const { upstreams, privateAdvice } = outside;
      return readCapabilities({ address, only, gridSets }, upstreams, privateAdvice, signal);
    },
    previewLayer: previews.layer,
    previewGridSet: reader.gridSet,
    previewTile: previews.tile,
  };
}

/** The accounts of a data folder, for the command line: a server may run on it or not. */
export async function openAccountsApp(
  settings: Settings,
  { log, clock }: Pick<ServerEnv, 'log' | 'clock'>,
): Promise<Accounts> {
  if (!existsSync(settings.data)) {
    throw misconfigured(`There is no data folder ${settings.data}; see --data.`);
  }
  const database = await openDatabase({ location: databaseOf(settings), clock, log });
  const accounts = openAccounts({ database, dataFolder: settings.data, clock, log });
  return {
    ...accounts,
    async close() {
      await accounts.close();
      await database.close();
    },
  };
}

/** Accounts, with the first administrator if there is none yet. */
async function openAccess(
  { access: { enabled, adminPassword, proxyLogin }, server: { host } }: Settings,
  accounts: Accounts,
  log: Logger,
): Promise<{ readonly access: Access } & Pick<App, 'initialPassword'>> {
  if (!enabled) return { access: createLoopbackAccess(), initialPassword: null };
  const exposure = isLoopbackHost(host) ? 'loopback' : 'network';
  const password = await accounts.ensureAdministrator(adminPassword, exposure);
  return {
    access: createAccountAccess(accounts.authenticator, proxyHeadersOf(proxyLogin, log)),
    initialPassword: password === null ? null : { password, file: accounts.passwordFile },
  };
}

/** The build puts the pages beside this file; the sources show those of the last build. */
async function listPages(): Promise<readonly WebAsset[]> {
  const folders = ['./web', '../dist/web'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const folder = folders.find((path) => existsSync(path));
  return folder === undefined ? [] : listWebAssets(folder);
}
