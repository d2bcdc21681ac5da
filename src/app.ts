import { existsSync } from 'node:fs';
import { access as accessFile, constants } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Accounts, openAccounts } from './access/open-accounts.ts';
import { openFeeds } from './app/open-feeds.ts';
import { type Node, openNode } from './app/open-node.ts';
import { shareCounts } from './app/open-services.ts';
import type { InitialPassword, ServerEnv } from './app/parent.ts';
import { openServerFigures } from './cluster/figures.ts';
import { readVersion } from './config/environment.ts';
import { nodeName, taskSettings } from './config/node-settings.ts';
import type { Settings } from './config/settings-schema.ts';
import { mergeUpstreams } from './domain/upstream-status.ts';
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
import { formerUsage, openEventLoopWatch, processUsage } from './http/metrics/process-metrics.ts';
import { listWebAssets, type WebAsset } from './http/pages/web-assets.ts';
import { opened } from './lib/closing-stack.ts';
import { sumRecords } from './lib/counters.ts';
import { laterOf } from './pipeline/layer-activity.ts';
import { createMapComposer } from './pipeline/map-composer.ts';
import { openPreviews } from './pipeline/previews.ts';
import { openMapThread } from './raster/open-map-thread.ts';
import { hostsNamedIn } from './sources/upstream/address-guard.ts';
import { shownProxies } from './sources/upstream/outbound-proxy.ts';
import { openProxiedFetch } from './sources/upstream/proxied-fetch.ts';
import { checkStore } from './storage/check-store.ts';
import { describeStores } from './storage/open-stores.ts';

/** For the command line: the responses of the API by route. */
export type { ApiResponse } from './http/api/api-routes.ts';

export interface App {
  /** Where it listens, with a slash at the end. */
  readonly url: string;
  readonly initialPassword: InitialPassword | null;
  /** Reads the configuration file again; returns the settings that need a restart. Throws and changes nothing if it is invalid. */
  reload(): Promise<readonly string[]>;
  /** Answers requests in flight, then closes everything in reverse order. */
  close(): Promise<void>;
}

/** A server: a node with accounts and HTTP. */
export function openApp(settings: Settings, env: ServerEnv): Promise<App> {
  return opened(async (open) => {
    const performsTasks = taskSettings(settings).workers > 0;
    const node = await openNode(settings, env, performsTasks ? ['serve', 'worker'] : ['serve'], open);
    const accounts = await openNodeAccounts(node);
    const { access, initialPassword } = await openAccess(node, accounts);
    const feeds = await openFeeds(node, accounts.audit);
    const { configFile, registry, feed } = node;
    const deps = {
      ...node,
      accounts,
      access,
      ...feeds,
      ...(await openResponses(node, accounts)),
      rest: {
        stores: describeStores(settings),
        memoryTierBytes: settings.memoryTierBytes,
        configFile: env.file?.current.configFile ?? '',
        reload: configFile.reloaded,
      },
    };
    if (feed) open.use(await feed.follow());
    await configFile.catchUp();
    const server = open.use(await openHttpServer(deps, settings.server));
    configFile.withCertificate(() => server.reload());
    const { url, port } = server.address;
    await registry.listening(nodeName(settings, port, node.several), url);
    return { url, initialPassword, reload: configFile.reload };
  });
}

async function openNodeAccounts(node: Node): Promise<Accounts> {
  const { settings, open } = node;
  const { enabled, oidc, proxyLogin } = settings.access;
  const proxied = oidc && openProxiedFetch(settings.proxies);
  if (proxied) open.use(proxied);
  const fetching = proxied && { fetch: proxied.fetch };
  const accounts = open.use(
    openAccounts({ ...node, dataFolder: settings.data, oidc, proxyLogin, ...fetching }),
  );
  const isOwn = (header: string) => accounts.authenticator.isOwn(header);
  // Layers with `passCredentials` must not send this server's own to a source.
  node.pipeline.guardCredentials(enabled ? isOwn : async () => false);
  await node.followKeys(accounts.readerKeys);
  return accounts;
}

/** Creates the first administrator if there is none yet. */
async function openAccess(
  { settings, log }: Node,
  accounts: Accounts,
): Promise<{ readonly access: Access } & Pick<App, 'initialPassword'>> {
  const { enabled, adminPassword, proxyLogin } = settings.access;
  if (!enabled) return { access: createLoopbackAccess(), initialPassword: null };
  const exposure = isLoopbackHost(settings.server.host) ? 'loopback' : 'network';
  const password = await accounts.ensureAdministrator(adminPassword, exposure);
  return {
    access: createAccountAccess(accounts.authenticator, proxyHeadersOf(proxyLogin, log)),
    initialPassword: password === null ? null : { password, file: accounts.passwordFile },
  };
}

const AWAY = 'the database cannot be reached; cached tiles are served from memory, others are not stored';

/** The responses over HTTP of a node and of all processes of its server. */
async function openResponses(node: Node, { readerKeys }: Accounts) {
  const { settings, pipeline, peers, database, catalog, activity, hostControl, clock, log, open } = node;
  const figures = openServerFigures(node.feed, node, open);
  const { share } = figures;
  const shown = shareCounts(figures, node);
  const status = share(
    'status',
    () => pipeline.status(),
    () => null,
  );
  const usage = share('process', processUsage, formerUsage);
  const keys = share('keys', () => readerKeys.figures());
  const isAway = () => peers?.isAway() ?? false;
  const { file, format } = settings.server.accessLog;
  return {
    ...(file !== null && { accessLog: open.use(openAccessLog(file, format, { clock, log })) }),
    layerState(name: string) {
      // The first is that of this process.
      const [, ...elsewhere] = shown.activity();
      const state = activity.of(name, elsewhere.flat());
      return { ...state, changedAt: laterOf(state.changedAt, node.quota.changedAt(name)) };
    },
    isAway,
    flush: (what: 'counts' | 'changes') => (what === 'counts' ? figures.refresh() : node.flush()),
    share,
    hostsNamedIn,
    nodes: node.registry,
    upstreams: {
      ...hostControl,
      status(host: string) {
        const own = hostControl.status(host);
        return mergeUpstreams(shown.upstreams().flat()).find((status) => status.host === host) ?? own;
      },
    },
    assets: await listPages(),
    imports: await openImports(node),
    composer: createMapComposer(pipeline, open.use(openMapThread(log)).draw, clock),
    about: { version: readVersion(), startedAt: clock.now(), proxies: shownProxies(settings.proxies) },
    metrics: {
      pipeline: { status: () => sumRecords(status()) },
      counters: { all: () => shown.counters().flat() },
      upstreams: () => mergeUpstreams(shown.upstreams().flat()),
      eventLoop: open.use(openEventLoopWatch()),
      process: () => sumRecords(usage()),
      node: { leads: node.leads, isAway },
      readerKeys: { figures: () => keys().flat() },
    },
    async readiness() {
      await accessFile(settings.data, constants.W_OK);
      if (isAway() && (await peers?.mayShow())) return AWAY;
      await database.query.selectNoFrom((statement) => statement.lit(1).as('one')).execute();
      await Promise.all([...catalog.stores().values()].map(checkStore));
      return null;
    },
  };
}

async function openImports(node: Node): Promise<ImportDeps> {
  const { catalog, upstreams, privateAdvice, open } = node;
  const reader = await node.reader();
  const previews = open.use(openPreviews({ ...node, reader, openSource: node.openPreview }));
  return {
    async readService(address, only, signal) {
      const { readCapabilities } = await import('./import/import-from.ts');
      const { gridSets } = catalog.gridSets;
      return readCapabilities({ address, only, gridSets }, upstreams, privateAdvice, signal);
    },
    previewLayer: previews.layer,
    previewGridSet: reader.gridSet,
    previewTile: previews.tile,
  };
}

/** The build puts the pages beside this file; the sources show those of the last build. */
async function listPages(): Promise<readonly WebAsset[]> {
  const folders = ['./web', '../dist/web'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const folder = folders.find((path) => existsSync(path));
  return folder === undefined ? [] : listWebAssets(folder);
}
