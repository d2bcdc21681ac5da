import { type GridSet, levelOf } from './grid-set.ts';

/** Scale denominators. The upper one is excluded, so that ranges can follow each other. */
export type Scales = readonly [min: number, max: number];

/** They are written with fewer digits than they have. */
const ROUNDING = 1e-6;

export function isWithinScales([min, max]: Scales, scale: number): boolean {
  const rounded = scale * (1 + ROUNDING);
  return rounded >= min && rounded < max;
}

/** Dense tiles are shown as large as plain ones. */
export function scaleAt(gridSet: GridSet, z: number): number {
  return levelOf(gridSet, z).scaleDenominator * gridSet.pixelRatio;
}
