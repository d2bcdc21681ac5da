import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { type Explanation, explainIssues } from '../lib/explain-issue.ts';
import { isRecord, printPath, type ValuePath } from '../lib/value-path.ts';
import { createSettingsSchema } from './json-schema.ts';
import { WORDS } from './load-settings.ts';
import { type LayerContext, resolveLayer, toGridSet } from './resolve-settings.ts';
import { referenceOf } from './secrets.ts';
import { type SettingsDocument, settingsSchema } from './settings-schema.ts';

type Lists = 'layers' | 'gridSets';

/**
 * A layer that came over the network: the document of the configuration file, read by the same rules, but it can
 * name nothing on this machine. Throws `request-invalid` with everything that is wrong.
 */
export function readLayerDocument(document: unknown, context: LayerContext) {
  const [given] = checked('layers', document).layers;
  if (!given) throw refusal([{ path: [], message: 'The body must be a layer' }]);
  const { declaration, problems } = resolveLayer(given, context);
  const local = given.source.type === 'archive' && given.source.path !== undefined;
  const refused = [
    ...problems,
    ...(local ? [onlyFromFile(['source', 'path'])] : []),
    ...(given.schedules.length > 0 ? [SCHEDULES_ELSEWHERE] : []),
  ];
  if (refused.length > 0) throw refusal(refused);
  return declaration;
}

const SCHEDULES_ELSEWHERE: Explanation = {
  path: ['schedules'],
  message: 'belong to the configuration file; for this layer use POST /api/v1/schedules',
};

/** As `readLayerDocument`, for a grid set. */
export function readGridSetDocument(document: unknown): GridSet {
  const [given] = checked('gridSets', document).gridSets;
  if (!given) throw refusal([{ path: [], message: 'The body must be a grid set' }]);
  return gridSetOf(given);
}

function gridSetOf(given: SettingsDocument['gridSets'][number]): GridSet {
  try {
    return toGridSet(given);
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    throw new TilewardenError('request-invalid', error.message, { cause: error });
  }
}

/** The schema of the whole file is asked, so that its messages are the file's. */
function checked(list: Lists, document: unknown): SettingsDocument {
  const tree = { layers: [], [list]: [document] };
  const references = [...referencesIn(document, [])].map(onlyFromFile);
  if (references.length > 0) throw refusal(references);
  const result = settingsSchema.safeParse(tree);
  if (result.success) return result.data;
  throw refusal(
    explainIssues(result.error.issues, tree, createSettingsSchema, WORDS).map(({ path, ...rest }) => ({
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

function refusal(problems: readonly Explanation[]): TilewardenError {
  const sentences = problems.map(({ path, key, message }) =>
    `${printPath(key === undefined ? path : [...path, key])} ${message}`.trim().replace(/[^.?]$/, '$&.'),
  );
  return new TilewardenError('request-invalid', sentences.join(' '));
}
