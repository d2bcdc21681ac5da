import { once } from 'node:events';
import { expect, it } from 'vitest';
import { FROM_SOURCES } from '../../test/fixtures/processes.ts';
import { spawnThread, threadUrl } from './spawn-thread.ts';

it("the URL of a thread is beside its caller, with the caller's extension", () => {
  expect(threadUrl('file:///srv/dist/storage/store.js', 'writer').href).toBe(
    'file:///srv/dist/storage/writer.js',
  );
  expect(threadUrl('file:///srv/src/storage/store.ts', 'writer').href).toBe(
    'file:///srv/src/storage/writer.ts',
  );
});

it('a thread runs from its source, with its imports', async () => {
  const thread = spawnThread(
    new URL('../../test/fixtures/spawner.ts', import.meta.url).href,
    'answering-thread',
    { execArgv: FROM_SOURCES },
  );
  const [answer] = await once(thread, 'message');
  await thread.terminate();
  expect(answer).toEqual({ jitter: 1000 });
});
