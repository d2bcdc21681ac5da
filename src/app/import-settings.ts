import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { feedsOfLayer } from '../changes/layer-feeds.ts';
import { checkImported } from '../config/check-imported.ts';
import { readVersion } from '../config/environment.ts';
import { parseYamlFile } from '../config/yaml-file.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { invalid, isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { UpdateSource } from '../domain/layer.ts';
import {
  type CapabilitiesImport,
  capabilitiesAddress,
  type ImportedService,
  importCapabilities,
} from '../import/import-capabilities.ts';
import { geoServerAsGeoWebCache, TILE_LAYER } from '../import/import-geoserver.ts';
import { importGeoWebCache } from '../import/import-geowebcache.ts';
import { importMapCache } from '../import/import-mapcache.ts';
import { importMapProxy } from '../import/import-mapproxy.ts';
import { type ImportedUser, importQuota, importUsers } from '../import/import-quota-and-users.ts';
import {
  completeGroups,
  type Imported,
  type ImportedDocument,
  ImportReport,
  WHOLE,
} from '../import/import-report.ts';
import { systemClock } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import { errorCode } from '../lib/error-code.ts';
import { isRecord } from '../lib/value-path.ts';
import { readLongXml } from '../lib/xml/read-xml.ts';
import { type XmlElement, XmlError } from '../lib/xml/xml-element.ts';
import { geoWebCacheFolder } from '../sources/adopted/old-tile-paths.ts';
import { mbtilesFormat } from '../sources/archive/mbtiles.ts';
import { AddressRefused } from '../sources/upstream/address-guard.ts';
import type { OutboundProxies } from '../sources/upstream/outbound-proxy.ts';
import { openUpstreamClient, type UpstreamClient } from '../sources/upstream/upstream-client.ts';
import { hostAndPort } from '../sources/upstream/upstream-options-for.ts';

export interface ImportedSettings {
  readonly areas: readonly object[];
  readonly gridSets: readonly ImportedDocument[];
  readonly layers: readonly ImportedDocument[];
  readonly groups: readonly object[];
  /** Feeds of the layers' `updateSources`, for a configuration file. */
  readonly changes: readonly object[];
  /** Body of `PUT /api/v1/quota`; null: it says nothing of a quota. */
  readonly quota: object | null;
  readonly users: readonly ImportedUser[];
  readonly report: ImportReport;
}

/** The folder of GeoServer's tile layers, in its data folder. */
const GEOSERVER_LAYERS = 'gwc-layers';
/** Any of them shows a data folder of GeoServer. */
const GEOSERVER_FOLDERS = [GEOSERVER_LAYERS, 'workspaces', 'gwc-gs.xml'];
const CONFIGURATION_FILES = ['geowebcache.xml', 'mapproxy.yaml', 'mapcache.xml', ...GEOSERVER_FOLDERS];
const CATALOG_FOLDERS = ['workspaces', 'layergroups', 'styles'];
const CATALOG_FILE = /[\\/](layer|featuretype|coverage|wmslayer|wmtslayer|namespace|workspace)\.xml$/;
/** Of a configuration that names another; more are a circle. */
const MAX_BASES = 10;
const QUOTA_FILE = 'geowebcache-diskquota.xml';
/** In a folder with `mapproxy.yaml`. */
const SEED_FILE = 'seed.yaml';
const USERS_FILE = 'users.properties';
const LIMITS = { bytes: 256 * 2 ** 20, depth: 32, elements: 20_000_000, attributes: 64 };

const FILES = {
  isThere: existsSync,
  readText: (file: string) => (existsSync(file) ? readBytes(file).toString('utf8') : null),
};

/** The operator's own machine asks: any host will do. */
export async function importFromAddress(
  address: string,
  only: readonly string[] | null,
  { log, clock, proxies }: Env & { readonly proxies: OutboundProxies },
): Promise<ImportedSettings> {
  const host = hostAndPort(capabilitiesAddress(address));
  const upstreams = openUpstreamClient({
    userAgent: `Tilewarden/${readVersion()}`,
    upstreams: {},
    configuredHosts: new Set([host]),
    proxies,
    clock,
    log,
  });
  try {
    return checked(
      await readCapabilities(
        { address, only, gridSets: builtInGridSets() },
        upstreams,
        (named) => `${named} is a private address.`,
      ),
    );
  } finally {
    await upstreams.close();
  }
}

/** Through a client that restricts the hosts. Not validated. */
export async function readCapabilities(
  { address, ...options }: Omit<CapabilitiesImport, 'address'> & { readonly address: string },
  upstreams: UpstreamClient,
  privateAdvice: (host: string) => string,
  signal: AbortSignal = new AbortController().signal,
): Promise<ImportedService> {
  const url = capabilitiesAddress(address);
  const { bytes } = await upstreams.get({ url, priority: 'interactive', signal }).catch((error: unknown) => {
    if (!isTilewardenError(error)) throw error;
    const refusal = error.cause instanceof AddressRefused ? error.cause : null;
    if (refusal && !refusal.isNever) throw new TilewardenError(error.code, privateAdvice(hostAndPort(url)));
    const why = error.cause instanceof Error ? ` ${error.cause.message}.` : '';
    throw new TilewardenError(error.code, `${url.host} cannot be read: ${error.message}${why}`, {
      cause: error,
    });
  });
  return importCapabilities(bytes, { ...options, address: url });
}

/**
 * A configuration file of another program, or its folder. `users`: its file of users, if elsewhere. `seeds`: MapProxy's
 * `seed.yaml`, if it is not in the folder.
 */
export async function importFromFile(
  path: string,
  users: string | null,
  seeds: string | null = null,
): Promise<ImportedSettings> {
  const file = configurationAt(path);
  if (/\.ya?ml$/i.test(file)) {
    const beside = join(resolve(path), SEED_FILE);
    const tasks = seeds ?? (existsSync(beside) ? beside : null);
    const read = tasks === null ? null : readYaml(resolve(tasks));
    return checked(importMapProxy(readYaml(file), { ...FILES, folder: dirname(file), resolve }, read));
  }
  if (seeds !== null) throw invalid(`${seeds} goes only with a mapproxy.yaml before it.`);
  if (GEOSERVER_FOLDERS.includes(basename(file))) return importGeoServerFolder(dirname(file), users);
  const root = await readXmlFile(file);
  if (root.name === TILE_LAYER) return importGeoServerFolder(dirname(dirname(file)), users, root);
  if (root.name === 'mapcache') return checked(importMapCache(root, { isThere: existsSync }));
  return importGeoWebCacheFolder(root, dirname(file), users);
}

/** `only`: one of its tile layers; null: all. */
async function importGeoServerFolder(
  folder: string,
  users: string | null,
  only: XmlElement | null = null,
): Promise<ImportedSettings> {
  const read = (...path: string[]) => {
    const file = join(folder, ...path);
    return existsSync(file) ? readXmlFile(file) : null;
  };
  const tileLayers = join(folder, GEOSERVER_LAYERS);
  const report = new ImportReport();
  const { document, degrees } = geoServerAsGeoWebCache(
    {
      tileLayers: only ? [only] : existsSync(tileLayers) ? await readXmlFiles(filesIn(tileLayers)) : null,
      isPart: only !== null,
      catalog: await readXmlFiles(CATALOG_FOLDERS.flatMap((name) => catalogFiles(join(folder, name)))),
      settings: await read('gwc-gs.xml'),
      geowebcache: await read('gwc', 'geowebcache.xml'),
      global: await read('global.xml'),
    },
    report,
  );
  return importGeoWebCacheFolder(document, join(folder, 'gwc'), users, report, degrees);
}

/** XML files with an id, at most three folders below: workspace, store, layer. */
function catalogFiles(folder: string, depth = 0): readonly string[] {
  if (!existsSync(folder)) return [];
  const inner = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const below = depth < 3 ? inner.flatMap(({ name }) => catalogFiles(join(folder, name), depth + 1)) : [];
  const isCatalog = ['styles', 'layergroups'].includes(basename(folder));
  return [...filesIn(folder).filter((file) => isCatalog || CATALOG_FILE.test(file)), ...below];
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.xml'))
    .sort()
    .map((name) => join(folder, name));
}

async function readXmlFiles(files: readonly string[]): Promise<readonly XmlElement[]> {
  const roots: XmlElement[] = [];
  for (const file of files) roots.push(await readXmlFile(file));
  return roots;
}

async function importGeoWebCacheFolder(
  root: XmlElement,
  folder: string,
  users: string | null,
  report = new ImportReport(),
  degrees: ReadonlyMap<string, readonly number[]> = new Map(),
): Promise<ImportedSettings> {
  const gridSets = builtInGridSets();
  const hasTiles = (base: string, layer: string) => existsSync(join(base, geoWebCacheFolder(layer)));
  const findArchive = (given: string) => {
    const path = resolve(folder, given);
    const format = mbtilesFormat(path, systemClock);
    return format === null ? null : { path, format };
  };
  const options = { folder, gridSets, hasTiles, isThere: existsSync, findArchive, degrees };
  const imported = importGeoWebCache(root, options, report);
  const quotaFile = join(folder, QUOTA_FILE);
  const usersFile = users === null ? join(folder, USERS_FILE) : resolve(users);
  const hasUsers = users !== null || existsSync(usersFile);
  return {
    ...checked(imported),
    quota: existsSync(quotaFile) ? importQuota(await readXmlFile(quotaFile), report) : null,
    users: hasUsers ? importUsers(readBytes(usersFile).toString('utf8'), report) : [],
  };
}

function checked({ areas = [], gridSets, layers, groups = [], report }: Imported): ImportedSettings {
  const { refused, ...usable } = checkImported({ areas, gridSets, layers });
  for (const { subject, message } of refused) report.about(subject).leftOut(WHOLE, message);
  const changes = usable.layers.flatMap((layer) => feedsOf(layer, usable.gridSets));
  const complete = completeGroups(groups, usable.layers, report);
  return { ...usable, areas, groups: complete, changes, quota: null, users: [], report };
}

function feedsOf(
  { name, updateSources = [] }: ImportedDocument,
  own: readonly ImportedDocument[],
): readonly object[] {
  const declared = updateSources as readonly (Omit<UpdateSource, 'srs'> & { readonly gridSet?: string })[];
  const feeds = declared.map(({ gridSet = 'EPSG:4326', ...source }) => {
    const known = [...own, ...builtInGridSets()].find((one) => one.name === gridSet);
    return { ...source, srs: Number(known?.srs) };
  });
  return feedsOfLayer({ name, updateSources: feeds });
}

function configurationAt(path: string): string {
  const full = resolve(path);
  if (!existsSync(full)) throw invalid(`There is no file or folder ${path}.`);
  if (!statSync(full).isDirectory()) return full;
  const file = CONFIGURATION_FILES.map((name) => join(full, name)).find(existsSync);
  if (file !== undefined) return file;
  throw invalid(
    `The folder ${path} has none of ${CONFIGURATION_FILES.join(', ')}; name the configuration file.`,
  );
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const why = errorCode(error) ?? String(error);
    throw invalid(`${file} cannot be read (${why}).`);
  }
}

/** With what the files under `base` have besides, as MapProxy merges them. */
function readYaml(file: string, depth = 0): unknown {
  const { value, problems } = parseYamlFile(basename(file), readBytes(file).toString('utf8'));
  if (problems.length > 0) throw invalid(problems.join('\n'));
  if (!isRecord(value) || value.base === undefined) return value;
  if (depth > MAX_BASES) throw invalid(`The files under base of ${basename(file)} name each other.`);
  const { base, ...own } = value;
  const bases = (Array.isArray(base) ? base : [base]).map((name) =>
    readYaml(resolve(dirname(file), String(name)), depth + 1),
  );
  return [...bases, own].reduce(merged);
}

function merged(below: unknown, above: unknown): unknown {
  if (!isRecord(below) || !isRecord(above)) return above ?? below;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  const value = (key: string) => (Object.hasOwn(above, key) ? merged(below[key], above[key]) : below[key]);
  return Object.fromEntries([...keys].map((key) => [key, value(key)]));
}

async function readXmlFile(file: string): Promise<XmlElement> {
  try {
    return await readLongXml(readBytes(file), LIMITS);
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    const { line, column } = error.place;
    throw invalid(`${basename(file)}:${line}:${column} is not XML: ${error.message}.`);
  }
}
