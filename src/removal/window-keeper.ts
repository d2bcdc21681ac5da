/**
 * Removes tiles of instants that have left the window (`keep`) of a time parameter. The node that leads searches for
 * them in the stores, so that instants that expired while no server ran are removed too. One mark removes a combination
 * of values.
 */
import type { Catalog } from '../catalog/catalog.ts';
import type { ParameterStore, ParameterValues } from '../catalog/parameter-store.ts';
import type { Lead } from '../db/database.ts';
import type { Layer } from '../domain/layer.ts';
import type { Env } from '../lib/env.ts';
import { repeat } from '../lib/repeat.ts';
import { createPace } from '../lib/yielding.ts';
import { tileSetsIn } from '../storage/read-tiles.ts';
import type { Removal } from './removal.ts';
import type { Removals } from './removals.ts';

interface WindowKeeperOptions extends Env {
  readonly catalog: Pick<Catalog, 'layer' | 'stores'>;
  readonly parameters: Pick<ParameterStore, 'values'>;
  readonly removals: Pick<Removals, 'remove'>;
  readonly lead: Lead;
}

/** Milliseconds: tiles that leave a window are removed within a minute. */
const KEEP_INTERVAL = 20_000;
const SETS_PER_TURN = 500;

export function openWindowKeeper(options: WindowKeeperOptions) {
  const { lead, clock, log } = options;
  const failure = 'tiles of former times could not be removed; trying again';
  const repetition = { clock, log, pause: KEEP_INTERVAL, failure };
  return lead((signal) => repeat(() => removeFormer(options), repetition, signal));
}

/** Returns how many combinations of values it has removed. */
export async function removeFormer(
  options: Pick<WindowKeeperOptions, 'catalog' | 'parameters' | 'removals'>,
): Promise<number> {
  const { catalog, parameters, removals } = options;
  const former = new Map<string, Removal>();
  let known: ReadonlyMap<string, ParameterValues> | null = null;
  const pace = createPace(SETS_PER_TURN);
  for (const store of catalog.stores().values()) {
    for (const { layer, parametersId } of await tileSetsIn(store, null)) {
      const declared = parametersId === null ? null : catalog.layer(layer)?.layer;
      if (!declared || parametersId === null || !keepsWindow(declared)) continue;
      known ??= await parameters.values();
      await pace(1);
      if (!hasLeft(declared, known.get(parametersId))) continue;
      former.set(`${layer} ${parametersId}`, { layer, places: null, type: 'hide', parametersId });
    }
  }
  await removals.remove([...former.values()]);
  return former.size;
}

function keepsWindow({ parameters }: Layer): boolean {
  return parameters.some(({ times }) => times?.keepsWindow);
}

/** False in doubt: a combination whose values are not known, or times that are not known yet. */
function hasLeft({ parameters }: Layer, values: ParameterValues | undefined): boolean {
  return parameters.some(({ name, times }) => {
    const value = values?.get(name);
    return times?.keepsWindow && value !== undefined && times.last() !== null && !times.includes(value);
  });
}
