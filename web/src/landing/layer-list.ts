import type { DescribedGrid } from '../map/grid.ts';

/** One grid set of a layer, as `tiles.json` has it. */
export interface GridSetEntry extends DescribedGrid {
  readonly name: string;
}

export interface ParameterEntry {
  readonly name: string;
  readonly default: string;
  /** null: any value that the server accepts. */
  readonly values: readonly string[] | null;
}

export interface LayerEntry {
  readonly name: string;
  readonly title: string;
  readonly gridSets: readonly GridSetEntry[];
  readonly formats: readonly string[];
  readonly extensions: readonly string[];
  readonly parameters: readonly ParameterEntry[];
}

export async function fetchLayers(): Promise<readonly LayerEntry[]> {
  const answer = await fetch('tiles.json');
  if (!answer.ok) throw new Error(`The server answered ${answer.status} ${answer.statusText}.`);
  const { layers } = (await answer.json()) as { layers: readonly LayerEntry[] };
  return layers.map(withPicturesOnly).filter((layer) => layer.formats.length > 0);
}

/** Vector tiles have no picture to show. */
function withPicturesOnly(layer: LayerEntry): LayerEntry {
  const pictures = layer.formats.flatMap((format, place) => (format.startsWith('image/') ? [place] : []));
  return {
    ...layer,
    formats: pictures.map((place) => layer.formats[place] ?? ''),
    extensions: pictures.map((place) => layer.extensions[place] ?? ''),
  };
}
