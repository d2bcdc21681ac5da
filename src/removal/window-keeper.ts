/**
 * Removes tiles of instants that have left the window (`keep`) of a time parameter. The node that leads searches for
 * them in the stores, so that instants that expired while no server ran are removed too. One mark removes a combination
 * of values. A clock that jumps or an incomplete list of a source must not remove tiles:
 *
 *   an instant that                                       is removed
 *   has become too old since the last look, without       immediately
 *   a jump of the clock
 *   is not listed for another reason, or was not at the   after an hour in which no look found it listed
 *   first look of this node
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
/** Milliseconds without an instant until its tiles are removed. */
const ABSENT_FOR = 3_600_000;
/** Milliseconds by which the clocks may differ between two looks. */
const MAX_DRIFT = 5000;

/** Earlier looks of the node that leads. */
interface Looks {
  /** By combination, the monotonic time of the first of the looks that have not found it listed. */
  out: ReadonlyMap<string, number>;
  clocks: { readonly now: number; readonly monotonic: number } | null;
}

export function openWindowKeeper(options: WindowKeeperOptions) {
  const { lead, clock, log } = options;
  const failure = 'tiles of former times could not be removed; trying again';
  const repetition = { clock, log, pause: KEEP_INTERVAL, failure };
  return lead((signal) => {
    const looks: Looks = { out: new Map(), clocks: null };
    return repeat(() => removeFormer(options, looks), repetition, signal);
  });
}

/** One look. */
export async function removeFormer(
  { catalog, parameters, removals, clock }: Omit<WindowKeeperOptions, 'lead' | 'log'>,
  looks: Looks,
): Promise<void> {
  const clocks = { now: clock.now(), monotonic: clock.monotonic() };
  const { now, monotonic } = looks.clocks ?? { now: Number.NaN, monotonic: 0 };
  const isSteady = Math.abs(clocks.now - now - (clocks.monotonic - monotonic)) < MAX_DRIFT;
  const out = new Map<string, number>();
  const former = new Map<string, Removal>();
  let known: ReadonlyMap<string, ParameterValues> | null = null;
  const pace = createPace(SETS_PER_TURN);
  for (const store of catalog.stores().values()) {
    for (const { layer, parametersId } of await tileSetsIn(store, null)) {
      const declared = parametersId === null ? null : catalog.layer(layer)?.layer;
      if (!declared || parametersId === null || !keepsWindow(declared)) continue;
      known ??= await parameters.values();
      await pace(1);
      const key = `${layer} ${parametersId}`;
      const left = leftBy(declared, known.get(parametersId));
      const since = looks.out.get(key);
      const isLongAbsent = since !== undefined && clocks.monotonic - since >= ABSENT_FOR;
      if (isLongAbsent ? left : left === 'age' && since === undefined && isSteady)
        former.set(key, { layer, places: null, type: 'hide', parametersId });
      else if (left) out.set(key, since ?? clocks.monotonic);
    }
  }
  await removals.remove([...former.values()]);
  Object.assign(looks, { out, clocks });
}

function keepsWindow({ parameters }: Layer): boolean {
  return parameters.some(({ times }) => times?.keepsWindow);
}

/** Null in doubt: a combination whose values are not known, or times that are not known yet. */
function leftBy({ parameters }: Layer, values: ParameterValues | undefined): 'age' | 'list' | null {
  let left: 'list' | null = null;
  for (const { name, times } of parameters) {
    const value = values?.get(name);
    if (!times?.keepsWindow || value === undefined || !times.last() || times.includes(value)) continue;
    if (times.isFormer(value)) return 'age';
    left = 'list';
  }
  return left;
}
