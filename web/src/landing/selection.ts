import type { GridSetEntry, LayerEntry } from './layer-list.ts';

/** What the map shows. */
export interface Selection {
  readonly layer: LayerEntry;
  readonly gridSet: GridSetEntry;
  readonly extension: string;
  /** Values that differ from the default, by name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** What a page address asks for, as far as the server offers it. */
export function selectionOf(layers: readonly LayerEntry[], wishes: URLSearchParams): Selection | null {
  const layer = layers.find(({ name }) => name === wishes.get('layer')) ?? layers[0];
  const gridSet = layer?.gridSets.find(({ name }) => name === wishes.get('gridSet')) ?? layer?.gridSets[0];
  if (!layer || !gridSet) return null;
  const wanted = wishes.get('format') ?? '';
  const extension = layer.extensions.includes(wanted) ? wanted : (layer.extensions[0] ?? '');
  const parameters = layer.parameters.flatMap((parameter): [string, string][] => {
    const value = wishes.get(parameter.name) ?? parameter.default;
    const known = parameter.values === null || parameter.values.includes(value);
    return known && value !== parameter.default ? [[parameter.name, value]] : [];
  });
  return { layer, gridSet, extension, parameters: new Map(parameters) };
}

/** Relative to the page; rows count from the top. */
export function tileAddress(selection: Selection, z: number, x: number, y: number): string {
  const { layer, gridSet, extension, parameters } = selection;
  const path = `tiles/${encodeURIComponent(layer.name)}/${encodeURIComponent(gridSet.name)}/${z}/${x}/${y}.${extension}`;
  const query = new URLSearchParams([...parameters]).toString();
  return query === '' ? path : `${path}?${query}`;
}
