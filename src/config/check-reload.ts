import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChangeableCatalog } from '../catalog/catalog.ts';
import { layersBelow } from '../catalog/incarnations.ts';
import { layersAbove } from '../catalog/tile-fates.ts';
import { everySubset } from '../domain/layer.ts';
import { SettingsError } from './settings-error.ts';
import type { Settings } from './settings-schema.ts';

type DeclaredCatalog = Pick<
  ChangeableCatalog<unknown>,
  'layers' | 'gridSets' | 'layerNames' | 'declaration' | 'version'
>;

const LAYERS_PER_TURN = 100;

/** Throws `SettingsError` if the file lacks something that a layer declared over HTTP needs. */
export async function refuseLost(catalog: DeclaredCatalog, current: Settings, next: Settings): Promise<void> {
  await refuseLostGridSets(catalog, next);
  await refuseLostLayers(catalog, current, next);
}

/** A layer that was declared over HTTP may use a grid set of the file. */
async function refuseLostGridSets(catalog: DeclaredCatalog, next: Settings): Promise<void> {
  const names = new Set(next.gridSets.gridSets.map(({ name }) => name));
  const gone = new Set(catalog.gridSets.gridSets.map(({ name }) => name).filter((name) => !names.has(name)));
  if (gone.size === 0) return;
  const inFile = new Set(next.layers.map(({ name }) => name));
  let seen = 0;
  for (const layer of catalog.layers()) {
    if (++seen % LAYERS_PER_TURN === 0) await nextTurn();
    const lost = everySubset(layer).find(({ gridSet }) => gone.has(gridSet.name));
    if (!lost || inFile.has(layer.name) || next.gridSets.find(lost.gridSet.name)) continue;
    throw new SettingsError([
      `The grid set ${lost.gridSet.name} is no longer in the file, and layer ${layer.name}, which was declared over HTTP, uses it`,
    ]);
  }
}

/** A layer that was declared over HTTP may be drawn from a layer of the file. */
async function refuseLostLayers(catalog: DeclaredCatalog, current: Settings, next: Settings): Promise<void> {
  const before = new Set(current.layers.map(({ name }) => name));
  const after = new Set(next.layers.map(({ name }) => name));
  const gone = [...before].filter((name) => !after.has(name));
  if (gone.length === 0) return;
  const lost = (await layersAbove(catalog, gone)).find((name) => !before.has(name) && !after.has(name));
  if (lost === undefined) return;
  const names = layersBelow(catalog.declaration(lost)?.source).map(({ layer }) => layer);
  const below = names.find((name) => gone.includes(name)) ?? gone[0];
  throw new SettingsError([
    `The layer ${below} is no longer in the file, and layer ${lost}, which was declared over HTTP, is drawn from it`,
  ]);
}
