import type { OfferedLayer, TileSet } from '../map/tile-set.ts';

export async function fetchLayers(): Promise<readonly OfferedLayer[]> {
  const answer = await fetch('tiles.json');
  if (!answer.ok) throw new Error(`The server answered ${answer.status} ${answer.statusText}.`);
  const { layers } = (await answer.json()) as { layers: readonly OfferedLayer[] };
  return layers.map(withPicturesOnly).filter((layer) => layer.formats.length > 0);
}

/** Vector tiles have no picture to show. */
function withPicturesOnly(layer: OfferedLayer): OfferedLayer {
  const pictures = layer.formats.flatMap((format, place) => (format.startsWith('image/') ? [place] : []));
  return {
    ...layer,
    formats: pictures.map((place) => layer.formats[place] ?? ''),
    extensions: pictures.map((place) => layer.extensions[place] ?? ''),
  };
}

/** What a page address asks for, as far as the server offers it. Formats go by their extension there. */
export function tileSetOf(
  layers: readonly OfferedLayer[],
  wishes: URLSearchParams,
): TileSet<OfferedLayer> | null {
  const layer = layers.find(({ name }) => name === wishes.get('layer')) ?? layers[0];
  const gridSet = layer?.gridSets.find(({ name }) => name === wishes.get('gridSet')) ?? layer?.gridSets[0];
  if (!layer || !gridSet) return null;
  const format = layer.formats[Math.max(0, layer.extensions.indexOf(wishes.get('format') ?? ''))] ?? '';
  const parameters = layer.parameters.flatMap((parameter): [string, string][] => {
    const value = wishes.get(parameter.name) ?? parameter.default;
    const known = parameter.values === null || parameter.values.includes(value);
    return known && value !== parameter.default ? [[parameter.name, value]] : [];
  });
  return { layer, gridSet, format, parameters: Object.fromEntries(parameters) };
}
