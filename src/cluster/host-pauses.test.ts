import { expect, it } from 'vitest';
import { eventually } from '../../test/fixtures/eventually.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { openDatabase } from '../db/open-database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createHostPauses } from './host-pauses.ts';

const HOST = 'maps.example.org:443';

it('a host that one node pauses is paused for the others, which are notified, until any node resumes it', async () => {
  const location = await createPostgresDatabase();
  const [one, other] = await Promise.all(
    ['one', 'other'].map(async () => {
      const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
      whenOver(() => database.close());
      return createHostPauses(database);
    }),
  );
  if (!one || !other) throw new Error('there are two');
  let notified = 0;
  whenOver(other.listen(() => notified++));
  await one.pause(HOST, 'anna');
  await one.pause(HOST, 'berta');
  expect(await other.read()).toEqual(new Map([[HOST, { by: 'anna', at: expect.any(Number) }]]));
  await eventually('a notification', () => notified > 0);
  await other.resume(HOST);
  expect(await one.read()).toEqual(new Map());
});
