/**
 * Tests run beside each other, and the machine has other things to do: times are then held only roughly. Alone on a
 * machine, STRICT_FIGURES=true holds them to what is promised.
 */
const STRICT = process.env.STRICT_FIGURES === 'true';

export function allowed(promised: number): number {
  return STRICT ? promised : 5 * promised;
}
