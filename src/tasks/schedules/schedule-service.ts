import type { Schedule, ScheduleDeclaration, ScheduleRun } from './schedule.ts';

/** Schedules as the HTTP interface sees them. Every promise of a change resolves when it is durable. */
export interface ScheduleService {
  list(layer: string | null): Promise<readonly Schedule[]>;
  get(id: number): Promise<Schedule | null>;
  /**
   * Throws `layer-unknown`, `request-invalid` or `parameter-refused`, and then has changed nothing.
   * Null when the layer has a schedule of that name.
   */
  create(declaration: ScheduleDeclaration, createdBy: string): Promise<Schedule | null>;
  /** As `create`. */
  replace(id: number, declaration: ScheduleDeclaration): Promise<Schedule | null>;
  remove(id: number): Promise<boolean>;
  /** Newest first. */
  runs(id: number, limit: number): Promise<readonly ScheduleRun[]>;
  /** When it will begin next, as far as it can be told; none while it is switched off. */
  nextRuns(schedule: Schedule, count: number): readonly number[];
  /** At once, whatever its hours are. Null while the run before is not over. */
  runNow(schedule: Schedule): Promise<ScheduleRun | null>;
}
