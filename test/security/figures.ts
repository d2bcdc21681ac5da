/**
 * Tests run beside each other, and the machine has other things to do: figures are then held only roughly. Alone on a
 * machine, STRICT_FIGURES=true holds them to what is promised, and says which promise is not kept yet.
 */
const STRICT = process.env.STRICT_FIGURES === 'true';

export function allowed(promised: number, roughly = 5 * promised): number {
  return STRICT ? promised : roughly;
}
