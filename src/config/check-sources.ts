import { formatNames, gridSetNames } from '../catalog/create-layer.ts';
import { layersBelow } from '../catalog/incarnations.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { GridSet, GridSetRegistry } from '../domain/grid-set.ts';
import { projectionOf } from '../domain/projection.ts';
import { sameSrs } from '../domain/srs.ts';
import { hintFor } from '../lib/closest-name.ts';
import type { Explanation } from '../lib/explain-issue.ts';
import type { ValuePath } from '../lib/value-path.ts';
import type { AdoptOptions } from '../sources/adopted/adopt-options.ts';
import { partsOf, type SourceSettings, sourceDriverOf, sourceTypes } from '../sources/drivers.ts';
import { driverOf, type StoreSettings } from '../storage/drivers.ts';
import type { SettingsDocument } from './settings-schema.ts';

/** A layer in the catalog's form: `adopt` is a list, perhaps empty. */
type Declared = LayerDeclaration<SourceSettings>;

/** Limits of layers drawn from layers, in a row and below one part: each requests several tiles of the next one. */
const MAX_LAYERS_DEEP = 4;
const MAX_LAYERS_BELOW = 32;

export interface LayersByName {
  get(name: string): Declared | undefined;
  keys(): Iterable<string>;
}

/** Checks across objects: whether a source fits its layer, and the other layers. */
export function sourceProblems(
  layer: Declared,
  byName: LayersByName,
  gridSets: GridSetRegistry,
  path: ValuePath,
): readonly Explanation[] {
  const problem = layerProblem(layer, byName, gridSets);
  const passing = problemOfPassing(layer);
  const listing = problemOfTimes(layer);
  if (listing) return [{ path: [...path, ...listing.path], message: listing.message }];
  if (passing) return [{ path: [...path, 'passCredentials'], message: passing }];
  return problem ? [{ path: [...path, 'source', ...problem.path], message: problem.message }] : [];
}

function layerProblem(layer: Declared, byName: LayersByName, gridSets: GridSetRegistry): Explanation | null {
  const { source } = layer;
  if (source.type === 'layer') return problemOfPart(layer, source, byName, gridSets);
  if (source.type !== 'layers') return problemOfGridSets(layer, source, gridSets);
  for (const [index, part] of source.of.entries()) {
    const { source: own, layer: below = '', gridSet } = part;
    const problem = own
      ? within(['source'], problemOfGridSets(layer, own, gridSets))
      : problemOfPart(layer, { layer: below, gridSet }, byName, gridSets);
    if (problem) return within(['of', index], problem);
  }
  return null;
}

function within(path: ValuePath, problem: Explanation | null): Explanation | null {
  return problem && { ...problem, path: [...path, ...problem.path] };
}

/** Parameters with `from: capabilities` need a source that has capabilities. */
function problemOfTimes({ parameters, source }: Declared): Explanation | null {
  const index = parameters.findIndex(({ from }) => from === 'capabilities');
  if (index < 0 || sourceDriverOf(source).listsDimensions) return null;
  const types = sourceTypes(({ listsDimensions }) => listsDimensions === true);
  const message = `capabilities needs a source of type ${types}, not ${source.type}`;
  return { path: ['parameters', index, 'from'], message };
}

/** Settings that conflict with passing credentials, because they share tiles or have credentials of their own. Null: none. */
function problemOfPassing({ passCredentials, source, ...layer }: Declared): string | null {
  if (!passCredentials) return null;
  if (!sourceDriverOf(source).passesCredentials || !('headers' in source)) {
    const types = sourceTypes(({ passesCredentials }) => passesCredentials);
    return `needs a source of type ${types}, not ${source.type}`;
  }
  const names = Object.keys(source.headers).map((name) => name.toLowerCase());
  if (source.username !== undefined || names.includes('authorization')) {
    return 'does not go with credentials of the source: remove username, password and the header Authorization';
  }
  const others = {
    adopt: layer.adopt.length > 0,
    fullWMS: layer.fullWMS,
    queryable: layer.queryable,
    onMiss: layer.onMiss !== 'source',
  };
  const conflict = Object.entries(others).find(([, isSet]) => isSet);
  return conflict ? `does not go with ${conflict[0]}: nothing of such a layer is stored or composed` : null;
}

function offeredBy(layer: Pick<Declared, 'gridSets'>, gridSets: GridSetRegistry): readonly GridSet[] {
  return gridSetNames(layer).flatMap((name) => gridSets.find(name) ?? []);
}

function problemOfGridSets(layer: Declared, source: SourceSettings, gridSets: GridSetRegistry) {
  const { offers } = sourceDriverOf(source);
  const missing = offeredBy(layer, gridSets).filter((gridSet) => offers?.(source, gridSet) === false);
  if (missing.length === 0) return null;
  const names = missing.map(({ name }) => name).join(', ');
  return {
    path: [],
    message: `has ready-made tiles, and not in ${names}, which the layer offers; take it out of the layer's gridSets, or name it in the source's gridSets if the tiles are in that grid`,
  };
}

interface DrawnLayer {
  readonly layer: string;
  readonly gridSet?: string | undefined;
}

function problemOfPart(layer: Declared, part: DrawnLayer, byName: LayersByName, gridSets: GridSetRegistry) {
  const below = byName.get(part.layer);
  if (!below) {
    return { path: ['layer'], message: unknownName('layer', part.layer, [...byName.keys()]) };
  }
  return problemOfChains(layer, part, byName) ?? problemOfDrawing(layer, part, below, gridSets);
}

export function unknownName(what: string, name: string, known: readonly string[]): string {
  return `names the ${what} ${name}, which is not declared; ${hintFor(name, known)}`;
}

/** All chains of layers, each drawn from the next, that begin with `chain`, up to a repetition or an excess. */
function* chainsFrom(chain: readonly string[], byName: LayersByName): Generator<readonly string[]> {
  yield chain;
  const last = chain.at(-1) ?? '';
  if (chain.length > MAX_LAYERS_DEEP || chain.indexOf(last) < chain.length - 1) return;
  for (const { layer } of layersBelow(byName.get(last)?.source)) yield* chainsFrom([...chain, layer], byName);
}

function problemOfChains(layer: Declared, part: DrawnLayer, byName: LayersByName): Explanation | null {
  const refused = (message: string) => ({ path: ['layer'], message });
  let count = 0;
  for (const chain of chainsFrom([layer.name, part.layer], byName)) {
    const names = chain.join(' → ');
    if (new Set(chain).size < chain.length) return refused(`leads back to itself: ${names}`);
    if (chain.length > MAX_LAYERS_DEEP) {
      return refused(`is drawn from too many layers, at most ${MAX_LAYERS_DEEP} in a row: ${names}`);
    }
    if (++count > MAX_LAYERS_BELOW) {
      return refused(`is drawn from too many layers, at most ${MAX_LAYERS_BELOW} through one part`);
    }
  }
  return null;
}

function problemOfDrawing(layer: Declared, source: DrawnLayer, below: Declared, gridSets: GridSetRegistry) {
  const offered = offeredBy(below, gridSets);
  const wanted = source.gridSet;
  if (wanted !== undefined && !offered.some(({ name, aliases }) => [name, ...aliases].includes(wanted))) {
    const names = offered.map(({ name }) => name).join(', ');
    return { path: ['gridSet'], message: `must be one of layer ${below.name}: ${names}` };
  }
  if (below.passCredentials) {
    return {
      path: ['layer'],
      message: `names ${below.name}, which shows its tiles to each caller alone (passCredentials)`,
    };
  }
  if (!formatNames(below).some((format) => format.startsWith('image/'))) {
    return { path: ['layer'], message: `names ${below.name}, which has no pictures to draw from` };
  }
  const strange = offeredBy(layer, gridSets).find(
    (gridSet) => !projectionOf(gridSet) && !offered.some(({ srs }) => sameSrs(srs, gridSet.srs)),
  );
  if (!strange) return null;
  return {
    path: [],
    message: `cannot be drawn in ${strange.name}: the projection of EPSG:${strange.srs} is not known; give the grid set a projection`,
  };
}

/** Unknown areas, and layers that cannot be clipped. */
export function areaProblems(
  layer: GivenLayer,
  areas: ReadonlyMap<string, unknown>,
  gridSets: GridSetRegistry,
  path: ValuePath,
): readonly Explanation[] {
  const { within: own, background, source } = layer;
  const parts = partsOf(source).map(({ within: name }, i) => [['source', 'of', i, 'within'], name] as const);
  const named = [[['within'], own] as const, ...parts].flatMap(([at, name]) =>
    name === null || name === undefined ? [] : [{ at: [...path, ...at], name }],
  );
  const problems: Explanation[] = named
    .filter(({ name }) => !areas.has(name))
    .map(({ at, name }) => ({ path: at, message: unknownName('area', name, [...areas.keys()]) }));
  const refuse = (key: string, message: string) => problems.push({ path: [...path, key], message });
  if (background !== null && own === null) refuse('background', 'goes only with within');
  if (own !== null && layer.adopt) refuse('within', 'does not go with adopt: those tiles are not clipped');
  const isOpaque = formatNames(layer).some((format) => !format.startsWith('image/'));
  if (own !== null && isOpaque) refuse('within', 'needs formats that are pictures: image/…');
  const strange = offeredBy(layer, gridSets).find((gridSet) => !projectionOf(gridSet));
  const [first] = named;
  if (first && strange) {
    const message = `cannot be used in ${strange.name}: the projection of EPSG:${strange.srs} is not known; give the grid set a projection`;
    problems.push({ path: first.at, message });
  }
  return problems;
}

/** Problems that would make adopted tiles disappear: a store that forgets truncations, or grid sets that the layer does not offer. */
export function adoptionProblems(
  layer: Pick<LayerDeclaration, 'adopt' | 'gridSets'>,
  gridSets: GridSetRegistry,
  store: StoreSettings | undefined,
  buckets: Readonly<Record<string, unknown>>,
  path: ValuePath,
): readonly Explanation[] {
  if (layer.adopt.length > 0 && store && driverOf(store).place === 'memory') {
    const message =
      'needs a store that outlives a restart, because truncated tiles stay hidden; one of type memory does not';
    return [{ path: [...path, 'adopt'], message }];
  }
  const offered = gridSetNames(layer).map((name) => gridSets.find(name)?.name ?? name);
  const isStrange = (name: string) => !offered.includes(gridSets.find(name)?.name ?? name);
  return layer.adopt.flatMap((adopted) => [
    ...bucketProblems(adopted, buckets, path),
    ...namedIn(adopted)
      .filter(([, name]) => isStrange(name))
      .map(([key, name]) => ({
        path: [...path, 'adopt', key],
        message: `names the grid set ${name}, which the layer does not offer; it has ${offered.join(', ')}`,
      })),
  ]);
}

function bucketProblems(
  { bucket }: AdoptOptions & { readonly bucket?: string | undefined },
  buckets: Readonly<Record<string, unknown>>,
  path: ValuePath,
): readonly Explanation[] {
  if (bucket === undefined || Object.hasOwn(buckets, bucket)) return [];
  const message = unknownName('bucket of adoptBuckets', bucket, Object.keys(buckets));
  return [{ path: [...path, 'adopt', 'bucket'], message }];
}

function namedIn(adopted: AdoptOptions): readonly (readonly [key: string, name: string])[] {
  const { gridSet, gridSets } = { gridSet: undefined, gridSets: {}, ...adopted };
  return [
    ...Object.keys(gridSets).map((name) => ['gridSets', name] as const),
    ...(gridSet === undefined ? [] : [['gridSet', gridSet] as const]),
  ];
}

/** A layer in the file's form: `adopt` is absent, one cache, or a list of at least one. */
type GivenLayer = SettingsDocument['layers'][number];

/** Unknown or duplicate names. */
export function scheduleProblems(layer: GivenLayer, path: ValuePath): readonly Explanation[] {
  const gridSets = gridSetNames(layer);
  const parameters = layer.parameters.map((filter) => filter.name.toUpperCase());
  const names = new Set<string>();
  return layer.schedules.flatMap((schedule, index) => {
    const at = [...path, 'schedules', index];
    const isRepeated = names.has(schedule.name);
    names.add(schedule.name);
    return [
      ...(isRepeated
        ? [
            {
              path: [...at, 'name'],
              message: 'is not unique: another schedule of the layer has the same name',
            },
          ]
        : []),
      ...notOffered([...at, 'gridSet'], schedule.gridSet, gridSets),
      ...notOffered([...at, 'format'], schedule.format, formatNames(layer)),
      ...Object.keys(schedule.parameters ?? {}).flatMap((name) =>
        notOffered([...at, 'parameters', name], name.toUpperCase(), parameters),
      ),
    ];
  });
}

function notOffered(path: ValuePath, name: string | undefined, offered: readonly string[]) {
  if (name === undefined || offered.includes(name)) return [];
  return [{ path, message: `names ${name}, which the layer does not offer; it has ${offered.join(', ')}` }];
}
