import type { Answer } from '../api/client.ts';

export type LayerSummary = Answer<'/api/v1/layers'>['layers'][number];
export type LayerUsage = Answer<'/api/v1/usage'>['layers'][number];

export interface LayerRow {
  readonly layer: LayerSummary;
  readonly usage: LayerUsage | null;
}

export const LAYER_ORDERS = ['declared', 'name', 'changed', 'size', 'failures'] as const;
export type LayerOrder = (typeof LAYER_ORDERS)[number];

const COMPARE: Readonly<Record<Exclude<LayerOrder, 'declared'>, (a: LayerRow, b: LayerRow) => number>> = {
  name: (a, b) => compareTexts(titleOf(a.layer), titleOf(b.layer)),
  changed: (a, b) => compareTexts(b.layer.changedAt ?? '', a.layer.changedAt ?? ''),
  size: (a, b) => (b.usage?.bytes ?? 0) - (a.usage?.bytes ?? 0),
  failures: (a, b) =>
    b.layer.failures - a.layer.failures ||
    compareTexts(b.layer.lastFailure?.at ?? '', a.layer.lastFailure?.at ?? ''),
};

/** Those with the words in their name or title. */
export function layersFound(
  rows: readonly LayerRow[],
  words: string,
  onlyFailing: boolean,
  order: LayerOrder,
): readonly LayerRow[] {
  const wanted = words.trim().toLowerCase();
  const found = rows.filter(
    ({ layer }) =>
      (!onlyFailing || layer.failures > 0) && `${layer.name}\n${layer.title}`.toLowerCase().includes(wanted),
  );
  return order === 'declared' ? found : found.sort(COMPARE[order]);
}

export function titleOf({ title, name }: LayerSummary): string {
  return title || name;
}

/** Quicker than by a language's rules, which take a second for thousands of names. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
