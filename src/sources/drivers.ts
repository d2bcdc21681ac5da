import type { z as Zod } from 'zod';
import type { DriverSchemas } from '../lib/schemas.ts';
import { arcgisDriver } from './arcgis/arcgis-source.ts';
import { archiveDriver } from './archive/archive-source.ts';
import { layerDriver } from './layer/layer-source.ts';
import type { SourceDriver } from './source-driver.ts';
import { wmsDriver } from './wms/wms-source.ts';
import { wmtsDriver } from './wmts/wmts-source.ts';
import { worldDriver } from './world/world-source.ts';
import { xyzDriver } from './xyz/xyz-source.ts';

/** Every driver; no other file names one. */
export const SOURCE_DRIVERS = [
  wmsDriver,
  wmtsDriver,
  xyzDriver,
  arcgisDriver,
  archiveDriver,
  layerDriver,
  worldDriver,
] as const;

/** The schemas of the options, in the order of the drivers. */
export type SourceSchemas = DriverSchemas<typeof SOURCE_DRIVERS>;
export type SourceSettings = Zod.output<SourceSchemas[number]>;

export function sourceDriverOf({ type }: Pick<SourceSettings, 'type'>): SourceDriver<SourceSettings> {
  const driver = SOURCE_DRIVERS.find((one) => one.type === type);
  if (!driver) throw new Error(`There is no source of type ${type}.`);
  return driver;
}

/** The types of the matching drivers, for messages. */
export function sourceTypes(holds: (driver: SourceDriver<SourceSettings>) => boolean): string {
  return SOURCE_DRIVERS.filter(holds)
    .map(({ type }) => type)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ');
}
