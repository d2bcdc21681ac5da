import type { Database } from '../db/database.ts';

const HOST_NEWS = 'host-news';
/** Milliseconds after which a host of which nothing more is told counts as any other. */
const REMEMBERED = 60_000;

interface News {
  readonly reason: 'failing' | 'retry-after';
  readonly failure: string | null;
  readonly interactiveMs: number;
  readonly taskMs: number;
  readonly failingMs: number | null;
}

/** What nodes tell each other of hosts, in the database: see `NewsBook` in `sources/upstream`. */
export function createHostNewsBook(database: Database, instance: string) {
  async function write(host: string, news: News): Promise<void> {
    const now = await database.now();
    const until = now + Math.ceil(Math.max(news.interactiveMs, news.taskMs));
    const row = { instance, news: JSON.stringify({ ...news, at: now }), until };
    await database.transaction(null, (query) =>
      query
        .insertInto('host_news')
        .values({ host, ...row })
        .onConflict((conflict) => conflict.column('host').doUpdateSet(row))
        .execute(),
    );
  }

  async function forget(host: string): Promise<void> {
    const longAgo = (await database.now()) - REMEMBERED;
    await database.transaction(null, (query) =>
      query
        .deleteFrom('host_news')
        .where((eb) => eb.or([eb('host', '=', host), eb('until', '<', longAgo)]))
        .execute(),
    );
  }

  return {
    async tell(host: string, news: News | null): Promise<void> {
      await (news ? write(host, news) : forget(host));
      await database.notify(HOST_NEWS);
    },
    async read(): Promise<ReadonlyMap<string, News>> {
      const now = await database.now();
      const rows = await database.query
        .selectFrom('host_news')
        .select(['host', 'news'])
        .where('instance', '!=', instance)
        .where('until', '>', now - REMEMBERED)
        .execute();
      return new Map(rows.map(({ host, news }) => [host, sinceThen(news, now)]));
    },
    listen: (heard: () => void) => database.listen(HOST_NEWS, heard),
  };
}

function sinceThen(text: string, now: number): News {
  const { at, ...told } = JSON.parse(text) as News & { readonly at: number };
  const passed = now - at;
  return {
    ...told,
    interactiveMs: told.interactiveMs - passed,
    taskMs: told.taskMs - passed,
    failingMs: told.failingMs === null ? null : told.failingMs + passed,
  };
}
