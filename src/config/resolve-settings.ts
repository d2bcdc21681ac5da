import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import { boundsOf } from '../domain/bounds.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { isTilewardenError, misconfigured } from '../domain/errors.ts';
import {
  createGridSet,
  createGridSetRegistry,
  type GridSet,
  type GridSetRegistry,
} from '../domain/grid-set.ts';
import { createNamedArea, createReadArea, type MeasuredShape, type NamedArea } from '../domain/named-area.ts';
import { checkProjection } from '../domain/projection.ts';
import { DEFAULT_SERVICE, type ServiceDescription } from '../domain/service-description.ts';
import type { Explanation } from '../lib/explain-issue.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { sizeOf } from '../lib/schemas.ts';
import type { ValuePath } from '../lib/value-path.ts';
import { partsOf, type SourceSettings } from '../sources/drivers.ts';
import type { Settings, SettingsDocument } from './settings-schema.ts';

type GivenGridSet = SettingsDocument['gridSets'][number];
type GivenLayer = SettingsDocument['layers'][number];

interface ResolvedSettings {
  readonly settings: Omit<Settings, 'data' | 'access' | 'schedules' | 'proxies'>;
  /** Problems of grid sets and areas; `checkSettings` finds the others. */
  readonly problems: readonly Explanation[];
}

/** Turns the file's settings into the internal form, without schedules: only servers need them. */
export function resolveSettings(document: SettingsDocument): ResolvedSettings {
  const problems: Explanation[] = [];
  const gridSets = resolveGridSets(document.gridSets, problems);
  const areas = resolveAreas(document.areas, problems);
  const { access: _, data: __, ...plain } = document;
  const settings = {
    ...plain,
    memoryTierBytes: sizeOf(document.memoryTier.size),
    areas,
    groups: new Map(document.groups.map((group) => [group.name, group])),
    service: serviceOf(document.service),
    gridSets,
    gridSetDocuments: new Map(document.gridSets.map((gridSet) => [gridSet.name, gridSet])),
    layers: document.layers.map((layer) => toDeclaration(layer, areas)),
  };
  return { settings, problems };
}

function serviceOf({ contact, ...fields }: SettingsDocument['service']): ServiceDescription {
  return {
    ...DEFAULT_SERVICE,
    ...omitUndefined({ title: fields.title, description: fields.abstract, keywords: fields.keywords }),
    fees: fields.fees ?? null,
    accessConstraints: fields.constraints ?? null,
    providerName: fields.provider ?? null,
    providerSite: fields.site ?? null,
    contact: omitUndefined(contact),
    inspire: fields.inspire ?? null,
  };
}

function resolveGridSets(documents: readonly GivenGridSet[], problems: Explanation[]): GridSetRegistry {
  const gridSets: GridSet[] = [...builtInGridSets()];
  for (const [index, options] of documents.entries()) {
    attempt(['gridSets', index], problems, () => {
      const gridSet = toGridSet(options);
      createGridSetRegistry([...gridSets, gridSet]);
      gridSets.push(gridSet);
    });
  }
  return createGridSetRegistry(gridSets);
}

export function toGridSet(options: GivenGridSet): GridSet {
  const { name, srs, extent, tileSize, projection, ...rest } = options;
  const [tileWidth, tileHeight] = typeof tileSize === 'number' ? [tileSize, tileSize] : tileSize;
  const gridSet = createGridSet({
    ...omitUndefined(rest),
    name,
    srs,
    projection: projection ?? null,
    extent: boundsOf(extent),
    tileWidth,
    tileHeight,
  });
  checkProjection(gridSet);
  return gridSet;
}

/** `measured`: the shape, if `withShapes` has read it. */
type GivenArea = SettingsDocument['areas'][number] & { readonly measured?: MeasuredShape };

export function srsOfArea({ srs }: Pick<GivenArea, 'srs'>): number {
  return Number(srs.replace('EPSG:', ''));
}

function resolveAreas(documents: readonly GivenArea[], problems: Explanation[]): Settings['areas'] {
  const areas = new Map<string, NamedArea>();
  for (const [index, area] of documents.entries()) {
    const { name, bounds, wkt, geojson, file, table, postgres, measured } = area;
    attempt(['areas', index], problems, () => {
      if (areas.has(name)) throw misconfigured(`Another area is named ${name}.`);
      const code = srsOfArea(area);
      const source = postgres ?? (file !== undefined && table !== undefined ? { file, table } : null);
      if (source) {
        areas.set(name, createReadArea(name, code, source));
        return;
      }
      const shape = bounds ? { bounds: boundsOf(bounds) } : wkt === undefined ? { geojson } : { wkt };
      areas.set(name, createNamedArea(name, code, measured ?? shape));
    });
  }
  return areas;
}

/** The names of areas that a layer and its parts are clipped to. */
function areasIn({ within, source }: GivenLayer): readonly string[] {
  return [within, ...partsOf(source).map((part) => part.within)].flatMap((name) => name ?? []);
}

export function toDeclaration(
  document: GivenLayer,
  areas: Settings['areas'],
): LayerDeclaration<SourceSettings> {
  const { schedules, ...fields } = document;
  const named = areasIn(document).flatMap((name) => areas.get(name) ?? []);
  return {
    ...fields,
    areas: new Map(named.map((area) => [area.name, area])),
    document,
    title: fields.title ?? fields.name,
    adopt: [fields.adopt ?? []].flat().map((adopted) => ({ ...adopted, within: null })),
  };
}

export function attempt(path: ValuePath, problems: Explanation[], work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    problems.push({ path, message: `cannot be used: ${error.message}` });
  }
}
