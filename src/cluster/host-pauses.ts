import type { Database } from '../db/database.ts';
import type { HostPause } from '../domain/upstream-status.ts';

const CHANNEL = 'host-pauses';

/** Map servers that operators have paused, for all nodes: `HostPauseReader` of `sources/upstream`. */
export function createHostPauses(database: Database) {
  return {
    /** For a paused host, the first operator and time remain. */
    async pause(host: string, by: string): Promise<void> {
      const row = { host, paused_by: by, paused_at: await database.now() };
      await database.change
        .insertInto('host_pauses')
        .values(row)
        .onConflict((conflict) => conflict.column('host').doNothing())
        .execute();
      await database.notify(CHANNEL);
    },
    async resume(host: string): Promise<void> {
      await database.change.deleteFrom('host_pauses').where('host', '=', host).execute();
      await database.notify(CHANNEL);
    },
    async read(): Promise<ReadonlyMap<string, HostPause>> {
      const rows = await database.query.selectFrom('host_pauses').selectAll().execute();
      return new Map(rows.map(({ host, paused_by: by, paused_at: at }) => [host, { by, at }]));
    },
    listen: (onChange: () => void) => database.listen(CHANNEL, onChange),
  };
}
