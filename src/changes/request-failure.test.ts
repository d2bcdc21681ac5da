import { expect, it } from 'vitest';
import { freePort } from '../../test/fixtures/network.ts';
import { openTestUpstream } from '../../test/fixtures/source-tools.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { createTimesFeed } from './feeds/times-feed.ts';
import { requestFailure } from './request-failure.ts';

it('a server that is away is reported in plain words, without its address', async () => {
  const upstream = openTestUpstream();
  whenOver(() => upstream.close());
  const url = new URL(`http://127.0.0.1:${await freePort()}/hook`);
  const request = { url, priority: 'interactive', signal: new AbortController().signal } as const;
  const failure = await upstream.get(request).catch((error: unknown) => error);
  expect(requestFailure(failure, 'The target')).toBe('The target cannot be reached: nothing listens there.');
});

it('a feed whose database is away says so without its address', async () => {
  const postgres = { url: `postgres://anna:hush@127.0.0.1:${await freePort()}/gis`, query: 'select 1' };
  const settings = { name: 'runs', type: 'times', layers: ['radar'], action: 'list' } as const;
  const feed = createTimesFeed(
    { ...settings, parameter: 'TIME', origin: 'postgres', postgres, every: 1 },
    {} as never,
    {} as never,
  );
  await expect(feed.poll(new AbortController().signal)).rejects.toThrow(
    /^The database cannot be reached: nothing listens there\.$/,
  );
});
