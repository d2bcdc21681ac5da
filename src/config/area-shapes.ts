import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isTilewardenError } from '../domain/errors.ts';
import { type MeasuredShape, measure, polygonsIn } from '../domain/named-area.ts';
import { errorCode } from '../lib/error-code.ts';
import type { Explanation } from '../lib/explain-issue.ts';
import { srsOfArea } from './resolve-settings.ts';
import type { SettingsDocument } from './settings-schema.ts';

type GivenArea = SettingsDocument['areas'][number];

/**
 * Adds the shapes of areas (GeoJSON or WKT, in the document or in files), so that all processes use the same ones and
 * changes are noticed. Areas in databases and GeoPackages are read later, repeatedly.
 */
export function withShapes(
  areas: readonly GivenArea[],
  folder: string,
): { readonly areas: readonly GivenArea[]; readonly problems: readonly Explanation[] } {
  const problems: Explanation[] = [];
  const read = areas.map((area, index) => {
    try {
      return withShape(area, folder);
    } catch (error) {
      // `checkSettings` reports a faulty shape in the document itself.
      if (area.file === undefined) return area;
      const message = error instanceof Error ? error.message : String(error);
      const read = { path: ['areas', index, 'file'], message: `cannot be read: ${area.file} (${message})` };
      problems.push(isTilewardenError(error) ? { path: ['areas', index], message } : read);
      return area;
    }
  });
  return { areas: read, problems };
}

function withShape(area: GivenArea, folder: string): GivenArea & { readonly measured?: MeasuredShape } {
  const { file, table, wkt, geojson, ...rest } = area;
  if (file !== undefined && table !== undefined) return { ...rest, table, file: resolve(folder, file) };
  const inDocument = wkt === undefined ? geojson && { geojson } : { wkt };
  const shape = file === undefined ? inDocument : shapeInFile(resolve(folder, file));
  return shape ? { ...rest, measured: measure(srsOfArea(area), polygonsIn(shape)) } : area;
}

/** Throws an error whose message is the reason. */
function shapeInFile(path: string): Parameters<typeof polygonsIn>[0] {
  try {
    const text = readFileSync(path, 'utf8');
    return /\.wkt$/i.test(path) ? { wkt: text } : { geojson: JSON.parse(text) };
  } catch (error) {
    throw new Error(errorCode(error) ?? 'it is not JSON');
  }
}
