import { type Database, type Lead, leadAlone } from '../../db/database.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Surroundings } from '../../lib/surroundings.ts';
import type { Invalidation } from '../invalidation.ts';
import type { TaskService } from '../task-service.ts';
import type { ScheduleDeclaration, ScheduleService } from './schedule.ts';
import { ScheduleRunner } from './schedule-runner.ts';
import { createScheduleStore, type ScheduleStore } from './schedule-store.ts';
import { createTimetable } from './timetable.ts';

export interface ScheduleServiceOptions extends Surroundings {
  readonly database: Database;
  readonly tasks: TaskService;
  readonly invalidation: Pick<Invalidation, 'invalidateDraft'>;
  /** Those of the configuration file. */
  readonly declared: readonly ScheduleDeclaration[];
  /** Alone when left out. */
  readonly lead?: Lead;
}

export interface OpenScheduleService extends ScheduleService {
  /** The configuration file was read again. */
  takeOver(declared: readonly ScheduleDeclaration[]): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds. Cron expressions count minutes, so a look comes at each full one too. */
const LOOK_INTERVAL = 5000;
const MINUTE = 60_000;
const CONFIGURATION = 'configuration';

export async function openScheduleService(options: ScheduleServiceOptions): Promise<OpenScheduleService> {
  const { database, tasks, invalidation, declared, lead = leadAlone, clock, log } = options;
  const store = createScheduleStore(database);
  const runner = new ScheduleRunner({ store, tasks, invalidation, clock, log });
  await takeOver(store, declared, clock);
  const looking = lead((signal) => lookRegularly(() => runner.lookAtAll(), { clock, log, signal }));

  async function check({ layer, work, draft, ...times }: ScheduleDeclaration): Promise<void> {
    createTimetable(times);
    // What is invalidated has the same names and numbers as what is seeded.
    await tasks.estimate({ ...draft, layer, type: work === 'invalidate' ? 'seed' : work });
  }

  return {
    list: (layer) => store.list(layer),
    get: (id) => store.get(id),
    async create(declaration, createdBy) {
      await check(declaration);
      const nextDue = firstDue(declaration, clock);
      return store.create({ declaration, origin: 'interface', createdBy, nextDue }, clock.now());
    },
    async replace(id, declaration) {
      await check(declaration);
      return store.replace(id, { declaration, origin: 'interface', nextDue: firstDue(declaration, clock) });
    },
    remove: (id) => store.remove(id),
    runs: (id, limit) => store.runs(id, limit),
    nextRuns(schedule, count) {
      const timetable = createTimetable(schedule);
      const begins: number[] = [];
      for (let due = schedule.nextDue; due !== null && begins.length < count; ) {
        const begin = timetable.mayBeginAt(Math.max(due, clock.now()));
        begins.push(begin);
        due = timetable.dueAfter(begin);
      }
      return begins;
    },
    takeOver: (now) => takeOver(store, now, clock),
    runNow: (schedule) => runner.startNow(schedule),
    close: looking.close,
  };
}

/** The file's word counts for what it names; a run that was due while the server was down stays due. */
async function takeOver(
  store: ScheduleStore,
  declared: readonly ScheduleDeclaration[],
  clock: Clock,
): Promise<void> {
  const nameOf = ({ layer, name }: { layer: string; name: string }) => JSON.stringify([layer, name]);
  const wanted = new Map(declared.map((declaration) => [nameOf(declaration), declaration]));
  for (const known of await store.list(null)) {
    const declaration = wanted.get(nameOf(known));
    wanted.delete(nameOf(known));
    if (declaration) {
      const sameTimes = known.cron === declaration.cron && known.timeZone === declaration.timeZone;
      const kept = sameTimes && declaration.enabled ? known.nextDue : null;
      const nextDue = kept ?? firstDue(declaration, clock);
      await store.replace(known.id, { declaration, origin: CONFIGURATION, nextDue });
    } else if (known.origin === CONFIGURATION) await store.remove(known.id);
  }
  for (const declaration of wanted.values()) {
    const nextDue = firstDue(declaration, clock);
    await store.create(
      { declaration, origin: CONFIGURATION, createdBy: CONFIGURATION, nextDue },
      clock.now(),
    );
  }
}

function firstDue(declaration: ScheduleDeclaration, clock: Clock): number | null {
  return declaration.enabled ? createTimetable(declaration).dueAfter(clock.now()) : null;
}

async function lookRegularly(
  look: () => Promise<void>,
  { clock, log, signal }: Surroundings & { readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await look().catch((error: unknown) => log.error({ err: error }, 'schedules could not be looked at'));
    const pause = Math.min(LOOK_INTERVAL, MINUTE - (clock.now() % MINUTE));
    await clock.sleep(pause, signal).catch(() => {});
  }
}
