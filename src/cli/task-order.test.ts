import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { taskOrder } from './task-order.ts';

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

  it('the command line refuses another CRS for an area, and a CRS without an area', () => {
    expect(() => taskOrder('seed', 'roads', { area, 'area-crs': 'EPSG:25832' }, given)).toThrow(
      /EPSG:4326 or grid-set/,
    );
    expect(() => taskOrder('seed', 'roads', { 'area-crs': 'grid-set' }, given)).toThrow(
      /--area-crs requires --area/,
    );
  });
});
