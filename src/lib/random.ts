/** A number in [0, 1). Injected wherever chance matters, so that a test can hold it. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** `value` spread by ±`share`, e.g. jitter(1000, 0.2, random) is in 800…1200. */
export function jitter(value: number, share: number, random: Random): number {
  return value * (1 + share * (2 * random() - 1));
}
