import { readFileSync } from 'node:fs';
import { isTilewardenError } from '../domain/errors.ts';
import { type MeasuredShape, measure, polygonsIn } from '../domain/named-area.ts';
import { errorCode } from '../lib/error-code.ts';

export type MeasureFile = (srs: number, path: string) => MeasuredShape | Promise<MeasuredShape>;

/** The shape in a file of GeoJSON or WKT. Throws `config-invalid` or `request-invalid`, or why the file cannot be read. */
export function measureFile(srs: number, path: string): MeasuredShape {
  try {
    const text = readFileSync(path, 'utf8');
    return measure(srs, polygonsIn(/\.wkt$/i.test(path) ? { wkt: text } : { geojson: JSON.parse(text) }));
  } catch (error) {
    if (isTilewardenError(error)) throw error;
    throw new Error(errorCode(error) ?? 'it is not JSON');
  }
}
