import { z } from 'zod';
import type { DriverSchemas } from '../lib/schemas.ts';
import { isRecord } from '../lib/value-path.ts';
import { arcgisDriver } from './arcgis/arcgis-source.ts';
import { archiveDriver } from './archive/archive-source.ts';
import { createLayersDriver, layerDriver } from './layers/layers-source.ts';
import { ogcApiTilesDriver } from './ogcapi-tiles/ogcapi-tiles-source.ts';
import type { SourceDriver, SourcePart } from './source-driver.ts';
import { wmsDriver } from './wms/wms-source.ts';
import { wmtsDriver } from './wmts/wmts-source.ts';
import { worldDriver } from './world/world-source.ts';
import { xyzDriver } from './xyz/xyz-source.ts';

const PART_DRIVERS = [
  wmsDriver,
  wmtsDriver,
  xyzDriver,
  arcgisDriver,
  ogcApiTilesDriver,
  archiveDriver,
  worldDriver,
] as const;

type PartSchemas = DriverSchemas<typeof PART_DRIVERS>;
/** Settings of the sources that do not draw from layers. */
export type PartSettings = z.output<PartSchemas[number]>;

const partSchema = z.discriminatedUnion(
  'type',
  PART_DRIVERS.map(({ options }) => options) as unknown as PartSchemas,
);

function partDriverOf({ type }: PartSettings): SourceDriver<PartSettings> {
  return driverIn<PartSettings>(PART_DRIVERS, type);
}

/** Every driver; no other file names one. */
export const SOURCE_DRIVERS = [
  ...PART_DRIVERS,
  layerDriver,
  createLayersDriver(partSchema, partDriverOf),
] as const;

/** The schemas of the options, in the order of the drivers. */
export type SourceSchemas = DriverSchemas<typeof SOURCE_DRIVERS>;
export type SourceSettings = z.output<SourceSchemas[number]>;

export function sourceDriverOf({ type }: Pick<SourceSettings, 'type'>): SourceDriver<SourceSettings> {
  return driverIn<SourceSettings>(SOURCE_DRIVERS, type);
}

function driverIn<Settings>(
  drivers: readonly SourceDriver<Settings>[],
  type: string,
): SourceDriver<Settings> {
  const driver = drivers.find((one) => one.type === type);
  if (!driver) throw new Error(`There is no source of type ${type}.`);
  return driver;
}

/** Undefined: no driver has the source's type. */
function driverFor(source: unknown): SourceDriver<SourceSettings> | undefined {
  return SOURCE_DRIVERS.find(({ type }) => isRecord(source) && source.type === type);
}

/** Parts of a source, the first at the bottom; empty if it does not draw from layers. */
export function partsOf(source: unknown): readonly SourcePart[] {
  return driverFor(source)?.parts?.(source as SourceSettings) ?? [];
}

/** Whether the source, or one of its parts, has single tiles only. */
export function isReadyMade(source: unknown): boolean {
  return (
    driverFor(source)?.pictures === 'ready-made' || partsOf(source).some((part) => isReadyMade(part.source))
  );
}

/** The types of the matching drivers, for messages. */
export function sourceTypes(matches: (driver: SourceDriver<SourceSettings>) => boolean): string {
  return SOURCE_DRIVERS.filter(matches)
    .map(({ type }) => type)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ');
}
