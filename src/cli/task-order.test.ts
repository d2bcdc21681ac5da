import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boundsHint, taskOrder } from './task-order.ts';

const given = { operands: ['roads'], repeated: new Map<string, readonly string[]>() };
const square = {
  type: 'Polygon',
  coordinates: [
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [0, 0],
    ],
  ],
};
let folder = '';
let area = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-order-'));
  area = join(folder, 'area.geojson');
  writeFileSync(area, JSON.stringify(square));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an order on the command line', () => {
  it('the command line takes an area in longitude and latitude, or in the CRS of the grid set on request', () => {
    expect(taskOrder('seed', 'roads', { area }, given)).toEqual({
      layer: 'roads',
      type: 'seed',
      area: square,
    });
    expect(taskOrder('seed', 'roads', { area, 'area-crs': 'grid-set' }, given)).toMatchObject({
      area: square,
      areaCrs: 'grid-set',
    });
  });

  it('the command line hints at bounds in degrees where the grid set is in metres', () => {
    const mercator = { name: 'EPSG:900913', srs: 'EPSG:3857', extent: [-2e7, -2e7, 2e7, 2e7] };
    const degrees = { name: 'EPSG:4326', srs: 'EPSG:4326', extent: [-180, -90, 180, 90] };
    const order = (bounds: string, gridSet?: string) =>
      taskOrder('seed', 'roads', { bounds, ...(gridSet && { 'grid-set': gridSet }) }, given);
    const inMetres = [mercator, degrees];
    expect(boundsHint(order('8.5,47.3,8.6,47.4'), inMetres)).toMatch(
      /^--bounds 8\.5,47\.3,8\.6,47\.4 looks like degrees, and grid set EPSG:900913 is in the units of EPSG:3857\./,
    );
    expect(boundsHint(order('8.5,47.3,8.6,47.4', 'EPSG:4326'), inMetres)).toBeNull();
    expect(boundsHint(order('946000,5988000,957000,6005000'), inMetres)).toBeNull();
    expect(boundsHint(taskOrder('seed', 'roads', {}, given), inMetres)).toBeNull();
  });

  it('the command line takes the name of an area, and a file that is missing is no name', () => {
    expect(taskOrder('seed', 'roads', { area: 'utrecht' }, given)).toMatchObject({ area: 'utrecht' });
    for (const missing of ['no.geojson', './utrecht'])
      expect(() => taskOrder('seed', 'roads', { area: missing }, given)).toThrow('cannot be read');
  });

  it('the command line refuses another CRS for an area, and a CRS without an area', () => {
    expect(() => taskOrder('seed', 'roads', { area, 'area-crs': 'EPSG:25832' }, given)).toThrow(
      /EPSG:4326 or grid-set/,
    );
    expect(() => taskOrder('seed', 'roads', { 'area-crs': 'grid-set' }, given)).toThrow(
      /--area-crs requires --area/,
    );
  });
});
