import { invalid } from '../domain/errors.ts';
import { isRecord } from '../lib/value-path.ts';
import { decodeXml, readXml } from '../lib/xml/read-xml.ts';
import { readPackageFiles } from '../sources/adopted/tile-package.ts';
import { tableIn } from './mapproxy-tables.ts';
import type { Table } from './tracked-table.ts';
import { tableOfXml } from './xml-table.ts';

/**
 * The tiling scheme of a `.tpk`, which has the files of a cache in a folder, or of a `.tpkx`, in the form of `conf.xml`
 * and `conf.cdi`; null: it has no such file. Throws `store-failed`.
 */
export async function readPackageScheme(file: string) {
  const files = await readPackageFiles(file);
  const [root, conf, bounds] = [files.get('root.json'), files.get('conf.xml'), files.get('conf.cdi')];
  if (root && !conf) return schemeIn(root);
  const read = (xml: Buffer | undefined) => (xml ? tableOfXml(readXml(decodeXml(xml))) : null);
  return { conf: read(conf), bounds: read(bounds) };
}

/** Levels after `maxLOD` are in the scheme, but have no tiles. */
function schemeIn(bytes: Buffer) {
  const root = jsonIn(bytes);
  const info = tableIn(root, 'tileInfo');
  const { wkid, latestWkid, wkt } = tableIn(info, 'spatialReference');
  const { x, y } = tableIn(info, 'origin');
  const last = Number(root.maxLOD ?? Number.POSITIVE_INFINITY);
  const levels = (Array.isArray(info.lods) ? info.lods : [])
    .filter((one) => isRecord(one) && Number(one.level) <= last)
    .map(({ level, resolution }) => ({ LevelID: level, Resolution: resolution }));
  const { xmin, ymin, xmax, ymax } = tableIn(
    root,
    isRecord(root.fullExtent) ? 'fullExtent' : 'initialExtent',
  );
  const grid = { TileCols: info.cols, TileRows: info.rows, DPI: info.dpi, LODInfos: { LODInfo: levels } };
  const place = {
    SpatialReference: { WKID: wkid, LatestWKID: latestWkid, WKT: wkt },
    TileOrigin: { X: x, Y: y },
  };
  const conf = {
    TileCacheInfo: { ...place, ...grid },
    TileImageInfo: { CacheTileFormat: tableIn(root, 'tileImageInfo').format },
    CacheStorageInfo: { StorageFormat: tableIn(root, 'storageInfo').storageFormat },
  };
  return { conf, bounds: { XMin: xmin, YMin: ymin, XMax: xmax, YMax: ymax } };
}

function jsonIn(bytes: Buffer): Table {
  try {
    const root: unknown = JSON.parse(bytes.toString('utf8'));
    if (isRecord(root)) return root;
  } catch {}
  throw invalid('The root.json of the package is not a JSON object.');
}
