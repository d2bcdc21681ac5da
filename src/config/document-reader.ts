import { isAbsolute, normalize } from 'node:path';
import type { DocumentReader } from '../catalog/declared-entries.ts';
import { invalid, isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { type Explanation, explainIssues, printExplanations } from '../lib/explain-issue.ts';
import { isRecord, type ValuePath } from '../lib/value-path.ts';
import { type AdoptOptions, placeOfAdoption } from '../sources/adopted/adopt-options.ts';
import { type SourceSettings, sourceDriverOf } from '../sources/drivers.ts';
import { type LayerContext, resolveLayer } from './check-settings.ts';
import { createSettingsSchema } from './json-schema.ts';
import { WORDS } from './load-settings.ts';
import { toGridSet } from './resolve-settings.ts';
import { MASK, maskSecrets, referenceOf } from './secrets.ts';
import { type Settings, type SettingsDocument, settingsSchema } from './settings-schema.ts';

const NO_PATHS: ReadonlySet<string> = new Set();

/** Parses declarations sent over HTTP as those of the configuration file. */
export function createDocumentReader({
  areas,
  groups,
  stores,
  adoptFolders,
  adoptBuckets,
}: Pick<
  Settings,
  'areas' | 'groups' | 'stores' | 'adoptFolders' | 'adoptBuckets'
>): DocumentReader<SourceSettings> {
  return {
    layer(document, catalog) {
      const byName = {
        get: (name: string) => catalog.declaration(name) ?? undefined,
        keys: () => catalog.layerNames(),
      };
      return readLayerDocument(
        document,
        { areas, groups, gridSets: catalog.gridSets, stores, adoptBuckets, byName },
        adoptFolders,
      );
    },
    gridSet: readGridSetDocument,
    shown: (document) => maskSecrets(document, NO_PATHS),
    restored(document, former) {
      const restored = restoreSecrets(document, former);
      if (!hidesSecrets(restored)) return restored;
      const message = `The document hides secrets (${MASK}) that are not stored here for a layer of that name: give them again.`;
      throw invalid(message);
    },
  };
}

/**
 * Puts back the former secret for every mask in the document. Throws `request-invalid` for a mask in a record with an
 * address of another server, which the secret would be sent to.
 */
function restoreSecrets(document: unknown, former: unknown): unknown {
  if (isRecord(document) && isRecord(former) && (document.url ?? former.url) && hidesSecrets(document)) {
    const known = originsIn(former);
    if (originsIn(document).some((origin) => origin.includes('{') || !known.includes(origin))) {
      throw invalid(
        `url names another server than before, or that of a grid set does. A hidden value (${MASK}) stands for the secret of the former one and is not sent elsewhere: give the password, token or headers again.`,
      );
    }
  }
  if (document === MASK && typeof former === 'string') return former;
  if (typeof document === 'string' && typeof former === 'string' && document.includes(MASK)) {
    return maskSecrets(former, NO_PATHS) === document ? former : document;
  }
  if (Array.isArray(document)) {
    return document.map((item, index) =>
      restoreSecrets(item, Array.isArray(former) ? former[index] : undefined),
    );
  }
  if (!isRecord(document)) return document;
  const before = isRecord(former) ? former : {};
  return Object.fromEntries(
    Object.entries(document).map(([key, item]) => [key, restoreSecrets(item, before[key])]),
  );
}

/** Scheme, host and port of every `url` below; `{s}` is one of several subdomains. */
function originsIn(value: unknown, hosts: readonly unknown[] = ['{s}']): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = isRecord(value) && Array.isArray(value.subdomains) ? value.subdomains : hosts;
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key !== 'url') return originsIn(inner, own);
    return [inner].flat().flatMap((url) => own.map((host) => originOf(String(url).replaceAll('{s}', host))));
  });
}

function originOf(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, host } = new URL(url);
  return protocol + host;
}

function hidesSecrets(document: unknown): boolean {
  return JSON.stringify(document).includes(MASK);
}

/**
 * A layer that came over the network, read by the rules of the configuration file, except that it may not refer to
 * files, variables or databases of this machine. Throws `request-invalid` with all problems.
 */
function readLayerDocument(document: unknown, context: LayerContext, adoptFolders: readonly string[]) {
  const layer = checked('layers', document);
  const { declaration, problems } = resolveLayer(layer, context);
  const file = sourceDriverOf(layer.source).fileOption?.(layer.source) ?? null;
  const refused = [
    ...problems,
    ...(file === null ? [] : [onlyFromFile(['source', ...file])]),
    ...declaration.adopt.flatMap((adopted) => placeProblems(adopted, adoptFolders)),
    ...(layer.schedules.length > 0 ? [SCHEDULES_ELSEWHERE] : []),
    ...layer.parameters.flatMap(({ from }, index) =>
      typeof from === 'object' ? [{ path: ['parameters', index, 'from'], message: ONLY_IN_FILE }] : [],
    ),
  ];
  if (refused.length > 0) throw documentRefused(refused);
  return {
    ...declaration,
    adopt: declaration.adopt.map((adopted) => ({ ...adopted, within: adoptFolders })),
  };
}

/** Checks the path alone; symbolic links are checked when it is read. */
function placeProblems(adopted: AdoptOptions, allowed: readonly string[]): readonly Explanation[] {
  const location = placeOfAdoption(adopted);
  if (location === null) return [];
  const [key, place] = location;
  const inside = (folder: string) => place === folder || place.startsWith(`${folder.replace(/\/$/, '')}/`);
  if (isAbsolute(place) && normalize(place) === place && allowed.some(inside)) return [];
  const path = ['adopt', key];
  if (allowed.length === 0) {
    return [{ path, message: 'may name a folder only in the configuration file, or below its adoptFolders' }];
  }
  return [{ path, message: `must be an absolute path below one of adoptFolders: ${allowed.join(', ')}` }];
}

/** The server itself would run the query. */
const ONLY_IN_FILE = 'may name a database only in the configuration file';

const SCHEDULES_ELSEWHERE: Explanation = {
  path: ['schedules'],
  message: 'belong to the configuration file; for this layer use POST /api/v1/schedules',
};

/** A grid set that came over the network, by the same rules. */
function readGridSetDocument(document: unknown): GridSet {
  const gridSet = checked('gridSets', document);
  try {
    return toGridSet(gridSet);
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    throw new TilewardenError('request-invalid', error.message, { cause: error });
  }
}

let builtKeys: ReturnType<typeof createSettingsSchema> | null = null;

/** Built once: it takes tens of milliseconds. */
function settingsKeys() {
  builtKeys ??= createSettingsSchema();
  return builtKeys;
}

/** Validates with the schema of the whole file, so that messages are the same. */
function checked<List extends 'layers' | 'gridSets'>(
  list: List,
  document: unknown,
): SettingsDocument[List][number] {
  const tree = { layers: [], [list]: [document] };
  const references = [...referencesIn(document, [])].map(onlyFromFile);
  if (references.length > 0) throw documentRefused(references);
  const result = settingsSchema.safeParse(tree);
  const [entry] = result.data?.[list] ?? [];
  if (entry) return entry;
  throw documentRefused(
    explainIssues(result.error?.issues ?? [], tree, settingsKeys, WORDS).map(({ path, ...rest }) => ({
      ...rest,
      path: path.slice(2),
    })),
  );
}

function onlyFromFile(path: ValuePath): Explanation {
  return { path, message: 'may refer to this machine only in the configuration file' };
}

function* referencesIn(value: unknown, path: ValuePath): Generator<ValuePath> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* referencesIn(item, [...path, index]);
    return;
  }
  if (!isRecord(value)) return;
  if (referenceOf(value)) yield path;
  for (const [key, item] of Object.entries(value)) yield* referencesIn(item, [...path, key]);
}

function documentRefused(problems: readonly Explanation[]): TilewardenError {
  return invalid(printExplanations(problems, 'The body'));
}
