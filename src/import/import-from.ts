import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { invalid, isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { systemClock } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import { errorCode } from '../lib/error-code.ts';
import { isRecord } from '../lib/value-path.ts';
import { decodeXml, readLongXml, readXml } from '../lib/xml/read-xml.ts';
import { type XmlElement, XmlError } from '../lib/xml/xml-element.ts';
import { parseYamlFile } from '../lib/yaml-file.ts';
import { geoWebCacheFolder } from '../sources/adopted/old-tile-paths.ts';
import { mbtilesFormat } from '../sources/archive/mbtiles.ts';
import { AddressRefused } from '../sources/upstream/address-guard.ts';
import type { OutboundProxies } from '../sources/upstream/outbound-proxy.ts';
import { openUpstreamClient, type UpstreamClient } from '../sources/upstream/upstream-client.ts';
import { hostAndPort } from '../sources/upstream/upstream-options.ts';
import { readPackageScheme } from './arcgis-package.ts';
import { arcgisDocument, PACKAGE, TILING_SCHEME } from './geowebcache-arcgis.ts';
import {
  type CapabilitiesImport,
  capabilitiesAddress,
  type ImportedService,
  importCapabilities,
} from './import-capabilities.ts';
import { geoServerAsGeoWebCache, TILE_LAYER } from './import-geoserver.ts';
import { type GeoWebCacheImport, importGeoWebCache } from './import-geowebcache.ts';
import { importMapCache } from './import-mapcache.ts';
import { importMapProxy } from './import-mapproxy.ts';
import { importQuota, importUsers } from './import-quota-and-users.ts';
import { type Imported, ImportReport } from './import-report.ts';
import type { Variables } from './mapproxy-variables.ts';
import { tableOfXml } from './xml-table.ts';

/** The folder of GeoServer's tile layers, in its data folder. */
const GEOSERVER_LAYERS = 'gwc-layers';
/** Any of them identifies a data folder of GeoServer. */
const GEOSERVER_FOLDERS = [GEOSERVER_LAYERS, 'workspaces', 'gwc-gs.xml'];
const CONFIGURATION_FILES = [
  ...['geowebcache.xml', 'mapproxy.yaml', 'mapcache.xml', 'conf.xml', 'Conf.xml'],
  ...GEOSERVER_FOLDERS,
];
const CATALOG_FOLDERS = ['workspaces', 'layergroups', 'styles'];
const CATALOG_FILE = /[\\/](layer|featuretype|coverage|wmslayer|wmtslayer|namespace|workspace)\.xml$/;
/** Limit of configurations that name another; more are a cycle. */
const MAX_BASES = 10;
const QUOTA_FILE = 'geowebcache-diskquota.xml';
/** In a folder with `mapproxy.yaml`. */
const SEED_FILE = 'seed.yaml';
const USERS_FILE = 'users.properties';
const LIMITS = { bytes: 256 * 2 ** 20, depth: 32, elements: 20_000_000, attributes: 64 };

/** Any host is allowed: requests come from the operator's own machine. */
export async function importFromAddress(
  address: string,
  only: readonly string[] | null,
  env: Env & { readonly proxies: OutboundProxies; readonly userAgent: string },
): Promise<Imported> {
  const configuredHosts = new Set([hostAndPort(capabilitiesAddress(address))]);
  const upstreams = openUpstreamClient({ ...env, upstreams: {}, configuredHosts });
  try {
    const options = { address, only, gridSets: builtInGridSets() };
    return await readCapabilities(options, upstreams, (named) => `${named} is a private address.`);
  } finally {
    await upstreams.close();
  }
}

/** Requests go through a client that restricts the hosts. The result is not validated. */
export async function readCapabilities(
  { address, ...options }: Omit<CapabilitiesImport, 'address'> & { readonly address: string },
  upstreams: UpstreamClient,
  privateAdvice: (host: string) => string,
  signal: AbortSignal = new AbortController().signal,
): Promise<ImportedService> {
  const { bytes, url } = await fetchCapabilities(address, upstreams, privateAdvice, signal);
  return importCapabilities(bytes, { ...options, address: url });
}

export async function fetchCapabilities(
  address: string,
  upstreams: UpstreamClient,
  privateAdvice: (host: string) => string,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly bytes: Buffer; readonly url: URL }> {
  const url = capabilitiesAddress(address);
  const request = { url, headers, priority: 'interactive', signal } as const;
  const { bytes } = await upstreams.get(request).catch((error: unknown) => {
    if (!isTilewardenError(error)) throw error;
    const refusal = error.cause instanceof AddressRefused ? error.cause : null;
    if (refusal && !refusal.isNever) throw new TilewardenError(error.code, privateAdvice(hostAndPort(url)));
    const why = error.cause instanceof Error ? ` ${error.cause.message}.` : '';
    throw new TilewardenError(error.code, `${url.host} cannot be read: ${error.message}${why}`, {
      cause: error,
    });
  });
  return { bytes, url };
}

/**
 * A configuration file of another program, or its folder. `users`: its file of users, if elsewhere. `seeds`: MapProxy's
 * `seed.yaml`, if it is not in the folder. `environment`: variables of MapProxy.
 */
export async function importFromFile(
  path: string,
  users: string | null,
  seeds: string | null,
  environment: Variables,
): Promise<Imported> {
  const file = configurationAt(path);
  if (/\.ya?ml$/i.test(file)) {
    const beside = join(resolve(path), SEED_FILE);
    const tasks = seeds ?? (existsSync(beside) ? beside : null);
    const read = tasks === null ? null : readYaml(resolve(tasks));
    const folder = dirname(file);
    const readText = (name: string) => textOf(resolve(folder, name));
    const options = { folder, resolve, isThere: existsSync, readText, environment };
    return importMapProxy(readYaml(file), options, read);
  }
  if (seeds !== null) throw invalid(`${seeds} goes only with a mapproxy.yaml before it.`);
  if (GEOSERVER_FOLDERS.includes(basename(file))) return importGeoServerFolder(dirname(file), users);
  if (PACKAGE.test(file)) {
    const { conf, bounds } = await readPackageScheme(file).catch(failAt(file));
    const readTable = (inner: string) => (inner === file ? conf : bounds);
    return importGeoWebCacheFolder(arcgisDocument(file), dirname(file), users, { readTable });
  }
  const root = await readXmlFile(file);
  if (root.name === TILING_SCHEME) return importGeoWebCacheFolder(arcgisDocument(file), dirname(file), users);
  if (root.name === TILE_LAYER) return importGeoServerFolder(dirname(dirname(file)), users, root);
  if (root.name === 'mapcache') return importMapCache(root, { isThere: existsSync });
  return importGeoWebCacheFolder(root, dirname(file), users);
}

/** `only`: one of its tile layers; null: all. */
async function importGeoServerFolder(
  folder: string,
  users: string | null,
  only: XmlElement | null = null,
): Promise<Imported> {
  const read = (...path: string[]) => {
    const file = join(folder, ...path);
    return existsSync(file) ? readXmlFile(file) : null;
  };
  const tileLayers = join(folder, GEOSERVER_LAYERS);
  const report = new ImportReport();
  const { document, ...known } = geoServerAsGeoWebCache(
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
  return importGeoWebCacheFolder(document, join(folder, 'gwc'), users, known, report);
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
  known: Partial<Pick<GeoWebCacheImport, 'degrees' | 'ids' | 'readTable'>> = {},
  report = new ImportReport(),
): Promise<Imported> {
  const hasTiles = (base: string, layer: string) => existsSync(join(base, geoWebCacheFolder(layer)));
  const findArchive = (name: string) => {
    const path = resolve(folder, name);
    const format = mbtilesFormat(path, systemClock);
    return format === null ? null : { path, format };
  };
  const readTable = (path: string) => {
    const named = namedAlike(path);
    if (named === null) return null;
    try {
      return tableOfXml(readXml(decodeXml(readBytes(named))));
    } catch (error) {
      return failAt(named)(error);
    }
  };
  const options = {
    folder,
    gridSets: builtInGridSets(),
    isThere: existsSync,
    hasTiles,
    findArchive,
    readTable,
  };
  const imported = importGeoWebCache(root, { ...options, ...known }, report);
  const quotaFile = join(folder, QUOTA_FILE);
  const usersFile = users === null ? join(folder, USERS_FILE) : resolve(users);
  const hasUsers = users !== null || existsSync(usersFile);
  return {
    ...imported,
    quota: existsSync(quotaFile) ? importQuota(await readXmlFile(quotaFile), report) : null,
    users: hasUsers ? importUsers(readBytes(usersFile).toString('utf8'), report) : [],
  };
}

/** The file of this name in any letter case: ArcGIS writes `conf.xml` and `Conf.xml`. Null: there is none. */
function namedAlike(path: string): string | null {
  const [folder, wanted] = [dirname(path), basename(path).toLowerCase()];
  const name = existsSync(folder)
    ? readdirSync(folder).find((one) => one.toLowerCase() === wanted)
    : undefined;
  return name === undefined || statSync(join(folder, name)).isDirectory() ? null : join(folder, name);
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

/** Null: there is no such file. */
function textOf(file: string): string | null {
  return existsSync(file) ? readBytes(file).toString('utf8') : null;
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const why = errorCode(error) ?? String(error);
    throw invalid(`${file} cannot be read (${why}).`);
  }
}

/** Merged with the files under `base`, as MapProxy merges them. */
function readYaml(file: string, depth = 0): unknown {
  const { value, problems } = parseYamlFile(basename(file), readBytes(file).toString('utf8'));
  if (problems.length > 0) throw invalid(problems.join('\n'));
  if (!isRecord(value) || value.base === undefined) return value;
  if (depth > MAX_BASES) throw invalid(`The files under base of ${basename(file)} name each other.`);
  const { base, ...own } = value;
  const bases = (Array.isArray(base) ? base : [base]).map((name) =>
    readYaml(resolve(dirname(file), String(name)), depth + 1),
  );
  return [...bases, own].reduce(mergedDocuments);
}

function mergedDocuments(below: unknown, above: unknown): unknown {
  if (!isRecord(below) || !isRecord(above)) return above ?? below;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  const value = (key: string) =>
    Object.hasOwn(above, key) ? mergedDocuments(below[key], above[key]) : below[key];
  return Object.fromEntries([...keys].map((key) => [key, value(key)]));
}

async function readXmlFile(file: string): Promise<XmlElement> {
  return readLongXml(readBytes(file), LIMITS).catch(failAt(file));
}

function failAt(file: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof XmlError)) throw error;
    const { line, column } = error.place;
    throw invalid(`${basename(file)}:${line}:${column} is not XML: ${error.message}.`);
  };
}
