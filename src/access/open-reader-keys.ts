import type { Database } from '../db/database.ts';
import { createDatabaseLedger } from '../db/database-ledger.ts';
import { createFallbackLedger, createMemoryLedger } from '../lib/budget.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import { KeyMeter } from './key-limits.ts';
import { type KeyChange, KeyRing } from './key-ring.ts';
import { type LoginThrottle, sourceOf } from './login-throttle.ts';
import type { ReaderKey, ReaderKeyDraft } from './reader-key.ts';
import { createReaderKeyStore, type RecentUse } from './reader-key-store.ts';

interface ReaderKeysOptions extends Env {
  readonly database: Database;
  readonly throttle: Pick<LoginThrottle, 'begin'>;
}

const SAVE_USES_MS = 60_000;
const GIVE_BACK_MS = 1000;

export type ReaderKeys = ReturnType<typeof openReaderKeys>;

/** Reader keys as the HTTP server uses them, in any process. */
export interface KeyAuth {
  readonly ring: Pick<KeyRing, 'find' | 'isValid'>;
  readonly meter: Pick<KeyMeter, 'admit'>;
  /** Counts a wrong key against an address. Throws `attempts-throttled` when there were too many. */
  wrongKey(address: string): void | Promise<void>;
}

/** All reader keys, in the database and in the memory of this process, and the use of their limits. */
export function openReaderKeys({ database, throttle, clock, log }: ReaderKeysOptions) {
  const store = createReaderKeyStore(database, clock);
  const ring = new KeyRing(clock);
  // By id of the key: its name, its requests since the start, and uses that are not in the database yet.
  const names = new Map<number, string>();
  const totals = new Map<number, { answered: number; refused: number }>();
  const unsaved = new Map<number, RecentUse>();
  let listener: (change: KeyChange) => void = () => {};

  const localLedger = createMemoryLedger(clock);
  const days = createFallbackLedger(createDatabaseLedger(database), localLedger, (error) =>
    log.debug({ err: error }, 'the limits of a key could not be read'),
  );
  const ledgers = { days, rates: database.shared ? days : localLedger };
  const meter = new KeyMeter(clock, ledgers);

  /** Applies keys created or deleted, here or on another node. */
  async function refresh(): Promise<void> {
    const added = await store.listAfter(ring.lastId);
    const complete = (await store.count()) === ring.size + added.length;
    const ids = complete ? null : await store.ids();
    const removed = ids ? [...ring.ids].filter((id) => !ids.has(id)) : [];
    if (added.length + removed.length === 0) return;
    const held = added.map(
      ({ id, hash, layers, areas, origins, ratePerSecond, requestsPerDay, expiresAt }) => {
        return { id, hash, layers, areas, origins, ratePerSecond, requestsPerDay, expiresAt };
      },
    );
    for (const { id, name } of added) names.set(id, name);
    for (const id of removed) for (const known of [names, totals, unsaved]) known.delete(id);
    ring.change({ added: held, removed });
    listener({ added: held, removed });
  }

  function used(uses: ReturnType<KeyMeter['takeUses']>): void {
    const now = clock.now();
    for (const { id, answered, refused } of uses) {
      const key = ring.get(id);
      if (!key) continue;
      const total = totals.get(id) ?? { answered: 0, refused: 0 };
      totals.set(id, { answered: total.answered + answered, refused: total.refused + refused });
      if (answered === 0) continue;
      const more = key.requestsPerDay === null ? answered : 0;
      unsaved.set(id, { at: now, answered: (unsaved.get(id)?.answered ?? 0) + more });
    }
  }

  async function saveUses(): Promise<void> {
    used(meter.takeUses());
    if (unsaved.size === 0) return;
    const uses = new Map(unsaved);
    unsaved.clear();
    await store.markUsed(uses);
  }

  const env = { clock, log, pauseFirst: true } as const;
  const usesSaver = openRepeater(saveUses, {
    ...env,
    pause: SAVE_USES_MS,
    failure: 'the last use of keys could not be recorded',
  });
  const permitReturner = openRepeater(() => meter.giveBack(), {
    ...env,
    pause: GIVE_BACK_MS,
    failure: 'unused requests of keys could not be given back',
  });

  return {
    ring,
    meter,
    ledgers,
    refresh,
    used,
    async wrongKey(address: string): Promise<void> {
      await throttle.begin(address, sourceOf(address));
    },
    /** Called with every change that this node applies. */
    onChange(onKeyChange: (change: KeyChange) => void): void {
      listener = onKeyChange;
    },
    async create(draft: ReaderKeyDraft, createdBy: string) {
      const created = await store.create(draft, createdBy);
      await refresh();
      return created;
    },
    async remove(id: number): Promise<ReaderKey> {
      const removed = await store.remove(id);
      await refresh();
      return removed;
    },
    async list(): Promise<readonly ReaderKey[]> {
      used(meter.takeUses());
      const keys = await store.listAfter(0);
      return keys.map(({ hash: _, ...key }) => ({
        ...key,
        lastUsedAt: unsaved.get(key.id)?.at ?? key.lastUsedAt,
        requestsToday: key.requestsToday + (unsaved.get(key.id)?.answered ?? 0),
      }));
    },
    /** Requests with each key since the start. */
    figures() {
      used(meter.takeUses());
      return Array.from(totals, ([id, total]) => ({ id, name: names.get(id) ?? '', ...total }));
    },
    async close(): Promise<void> {
      await permitReturner.close();
      await meter.giveBack(true);
      await usesSaver.close();
      await saveUses().catch(() => {});
    },
  };
}
