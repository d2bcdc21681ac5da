import { describe, expect, it } from 'vitest';
import { type LayerRow, layerTable } from './layers.ts';
import { type ScheduleDocument, scheduleTable } from './tasks.ts';

const ROADS: LayerRow = {
  name: 'roads',
  title: 'Road network',
  enabled: true,
  source: 'wms',
  gridSets: ['EPSG:900913', 'EPSG:4326'],
  formats: ['image/png'],
  tiles: 1234,
  bytes: 3 * 2 ** 20,
};

describe('the list of layers', () => {
  it('the list of layers has name, title, source, grid sets, tiles and size of each', () => {
    const closed = { ...ROADS, name: 'old', title: 'old', enabled: false, source: null, tiles: 0, bytes: 0 };
    expect(layerTable([ROADS, closed])).toBe(
      [
        'NAME   TITLE         SOURCE  GRID SETS              TILES     SIZE  STATE',
        'roads  Road network  wms     EPSG:900913,EPSG:4326  1,234  3.0 MiB  enabled',
        'old    old                   EPSG:900913,EPSG:4326      0      0 B  disabled',
        '',
      ].join('\n'),
    );
  });
});

describe('the list of schedules', () => {
  it('the list of schedules has when each runs next, and how its last run went', () => {
    const nightly = {
      id: 3,
      layer: 'roads',
      name: 'nightly',
      type: 'reseed',
      cron: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      enabled: true,
      nextRuns: ['2026-01-31T01:00:00.000Z'],
      lastRun: { state: 'started', taskId: 12 },
    } as ScheduleDocument;
    const off = { ...nightly, id: 12, name: 'off', enabled: false, lastRun: null };
    expect(scheduleTable([nightly, off], 'Europe/Berlin')).toBe(
      [
        'ID  LAYER  NAME     TYPE    CRON       TIME ZONE      NEXT RUN             LAST RUN',
        ' 3  roads  nightly  reseed  0 2 * * *  Europe/Berlin  2026-01-31 02:00:00  started (task 12)',
        '12  roads  off      reseed  0 2 * * *  Europe/Berlin  disabled             never',
        '',
      ].join('\n'),
    );
  });
});
