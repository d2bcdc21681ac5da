import type { Database } from '../db/database.ts';
import type { HostOutage } from '../domain/upstream-status.ts';

const CHANNEL = 'host-outages';
/** Milliseconds for which a report is still read after the outage should have ended. */
const REMEMBERED = 60_000;

/** Outages of map servers that nodes report to each other through the database: `HostOutageStore` of `sources/upstream`. */
export function createHostOutageStore(database: Database, instance: string) {
  async function write(host: string, outage: HostOutage): Promise<void> {
    const now = await database.now();
    const until = now + Math.ceil(Math.max(outage.interactiveMs, outage.taskMs));
    const row = { instance, outage: JSON.stringify({ ...outage, at: now }), until };
    await database.change
      .insertInto('host_outages')
      .values({ host, ...row })
      .onConflict((conflict) => conflict.column('host').doUpdateSet(row))
      .execute();
  }

  async function forget(host: string): Promise<void> {
    const longAgo = (await database.now()) - REMEMBERED;
    await database.change
      .deleteFrom('host_outages')
      .where((eb) => eb.or([eb('host', '=', host), eb('until', '<', longAgo)]))
      .execute();
  }

  return {
    async report(host: string, outage: HostOutage | null): Promise<void> {
      await (outage ? write(host, outage) : forget(host));
      await database.notify(CHANNEL);
    },
    async read(): Promise<ReadonlyMap<string, HostOutage>> {
      const now = await database.now();
      const rows = await database.query
        .selectFrom('host_outages')
        .select(['host', 'outage'])
        .where('instance', '!=', instance)
        .where('until', '>', now - REMEMBERED)
        .execute();
      return new Map(rows.map(({ host, outage }) => [host, sinceThen(outage, now)]));
    },
    listen: (changed: () => void) => database.listen(CHANNEL, changed),
  };
}

function sinceThen(text: string, now: number): HostOutage {
  const { at, ...outage } = JSON.parse(text) as HostOutage & { readonly at: number };
  const passed = now - at;
  return {
    ...outage,
    interactiveMs: outage.interactiveMs - passed,
    taskMs: outage.taskMs - passed,
    failingMs: outage.failingMs === null ? null : outage.failingMs + passed,
  };
}
