import { expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type OpenTaskServer, openTaskServer, openWms } from './task-server.ts';

interface Progress {
  readonly state: string;
  readonly tilesProcessed: number;
  readonly zooms:
    | readonly { readonly z: number; readonly tiles: number; readonly processed: number }[]
    | null;
}

async function progressOf(server: OpenTaskServer, id: number): Promise<Progress> {
  return (await (await server.request('GET', `/api/v1/tasks/${id}`)).json()) as Progress;
}

const sum = (zooms: Progress['zooms']) => zooms?.reduce((total, { processed }) => total + processed, 0);

it('a task shows its progress by zoom while it runs, when it is stopped, and when it is done', async () => {
  const wms = await openWms();
  const server = await openTaskServer(wms, { expectedLog: /stopped/ });
  // The first 30 metatiles: zooms 0 to 3 have 7, zoom 4 has 16, zoom 5 has 64.
  wms.answer = (_, number) => (number < 30 ? 'good' : 'hang');
  const id = await server.start({ gridSetId: 'EPSG:900913', zoomStart: 0, zoomStop: 5, threadCount: 2 });
  const running = await eventually(
    'zooms 0 to 4 are done',
    () => progressOf(server, id),
    ({ zooms }) => zooms?.[4]?.processed === 256,
  );
  expect(running.zooms?.map(({ z, tiles }) => [z, tiles])).toEqual([
    [0, 1],
    [1, 4],
    [2, 16],
    [3, 64],
    [4, 256],
    [5, 1024],
  ]);
  expect(sum(running.zooms)).toBe(running.tilesProcessed);
  await server.request('POST', `/api/v1/tasks/${id}/cancel`);
  const stopped = await progressOf(server, id);
  expect(stopped.state).toBe('aborted');
  expect(stopped.tilesProcessed).toBeLessThan(1365);
  expect([sum(stopped.zooms), stopped.zooms?.[4]?.processed]).toEqual([stopped.tilesProcessed, 256]);
  wms.reset();
  const truncation = await server.start({
    type: 'truncate',
    gridSetId: 'EPSG:900913',
    zoomStart: 1,
    zoomStop: 2,
  });
  await server.over(truncation);
  expect((await progressOf(server, truncation)).zooms).toEqual([
    { z: 1, tiles: 4, processed: 4 },
    { z: 2, tiles: 16, processed: 16 },
  ]);
});
