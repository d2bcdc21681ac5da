import { feedsOfLayer } from '../changes/layer-feeds.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import type { UpdateSource } from '../domain/layer.ts';
import { type Explanation, explainIssues } from '../lib/explain-issue.ts';
import { printPath } from '../lib/value-path.ts';
import { checkSettings } from './check-settings.ts';
import { createSettingsSchema } from './json-schema.ts';
import { WORDS } from './load-settings.ts';
import { revealSecrets } from './secrets.ts';
import { settingsSchema } from './settings-schema.ts';

interface Named {
  readonly name: string;
  readonly srs?: unknown;
  readonly updateSources?: unknown;
}

interface Documents<Document extends Named> {
  readonly adoptBuckets?: Readonly<Record<string, object>>;
  readonly areas?: readonly Named[];
  readonly gridSets: readonly Document[];
  readonly layers: readonly Document[];
}

/** Stands in for a bucket, whose credentials are in the environment of another machine. */
const SOME_BUCKET = { type: 's3', bucket: 'some' };

/** Separates the parts that a configuration file may contain from those with problems. */
export function checkImported<Document extends Named>(parts: Documents<Document>) {
  const { areas = [], adoptBuckets = {} } = parts;
  const buckets = Object.fromEntries(Object.keys(adoptBuckets).map((name) => [name, SOME_BUCKET]));
  let { gridSets, layers } = parts;
  const refused: { readonly subject: string; readonly message: string }[] = [];
  // Repeated: without a refused grid set its layers are refused too.
  for (;;) {
    const problems = documentProblems({ adoptBuckets: buckets, areas, gridSets, layers });
    if (problems.length === 0) {
      /** Feeds of the layers' `updateSources`, for a configuration file. */
      const changes = layers.flatMap((layer) => feedsOf(layer, gridSets));
      return { adoptBuckets, areas, gridSets, layers, changes, refused };
    }
    const bad = { gridSets: new Set<number>(), layers: new Set<number>() };
    for (const { path, key, message } of problems) {
      const [list, index, ...rest] = path;
      if ((list !== 'gridSets' && list !== 'layers') || typeof index !== 'number') throw new Error(message);
      bad[list].add(index);
      const name = (list === 'layers' ? layers : gridSets)[index]?.name ?? '';
      const field = printPath(key === undefined ? rest : [...rest, key]);
      refused.push({
        subject: `${list === 'layers' ? 'layer' : 'grid set'} ${name}`,
        message: `${field} ${message}`.trim(),
      });
    }
    gridSets = gridSets.filter((_, index) => !bad.gridSets.has(index));
    layers = layers.filter((_, index) => !bad.layers.has(index));
  }
}

function documentProblems(tree: object): readonly Explanation[] {
  // The environment of the server that will read the file is not known.
  const revealed = revealSecrets(tree, {}, '').tree;
  const result = settingsSchema.safeParse(revealed);
  if (!result.success)
    return explainIssues(result.error.issues, revealed, createSettingsSchema, WORDS, Infinity);
  return checkSettings(result.data).problems;
}

function feedsOf({ name, updateSources = [] }: Named, own: readonly Named[]): readonly object[] {
  const declared = updateSources as readonly (Omit<UpdateSource, 'srs'> & { readonly gridSet?: string })[];
  const feeds = declared.map(({ gridSet = 'EPSG:4326', ...source }) => {
    const known = [...own, ...builtInGridSets()].find((one) => one.name === gridSet);
    return { ...source, srs: Number(known?.srs) };
  });
  return feedsOfLayer({ name, updateSources: feeds });
}
