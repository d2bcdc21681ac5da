import { invalid } from '../domain/errors.ts';
import { isRecord } from '../lib/value-path.ts';
import { decodeXml, readXml } from '../lib/xml/read-xml.ts';
import type { XmlElement } from '../lib/xml/xml-element.ts';
import { readPackageFiles } from '../sources/adopted/tile-package.ts';
import { TILING_SCHEME } from './geowebcache-arcgis.ts';
import { tableIn } from './mapproxy-tables.ts';
import { node } from './xml-table.ts';

/** As `conf.xml` and `conf.cdi` have it; null: the package has no such file. */
interface PackageScheme {
  readonly conf: XmlElement | null;
  readonly bounds: XmlElement | null;
}

/** The tiling scheme of a `.tpk`, which has the files of a cache in a folder, or of a `.tpkx`. Throws `store-failed`. */
export async function readPackageScheme(file: string): Promise<PackageScheme> {
  const files = await readPackageFiles(file);
  const [root, conf, bounds] = [files.get('root.json'), files.get('conf.xml'), files.get('conf.cdi')];
  if (root && !conf) return schemeIn(root);
  return { conf: conf ? readXml(decodeXml(conf)) : null, bounds: bounds ? readXml(decodeXml(bounds)) : null };
}

/** Levels after `maxLOD` are in the scheme, but have no tiles. */
function schemeIn(bytes: Buffer): PackageScheme {
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
  const bounds = { XMin: xmin, YMin: ymin, XMax: xmax, YMax: ymax };
  return { conf: elementOf(TILING_SCHEME, conf), bounds: elementOf('EnvelopeN', bounds) };
}

function jsonIn(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const root: unknown = JSON.parse(bytes.toString('utf8'));
    if (isRecord(root)) return root;
  } catch {}
  throw invalid('The root.json of the package is not a JSON object.');
}

function elementOf(name: string, value: unknown): XmlElement {
  if (!isRecord(value)) return node(name, String(value ?? ''));
  const inner = Object.entries(value).flatMap(([key, one]) =>
    [one].flat().map((each) => elementOf(key, each)),
  );
  return node(name, inner);
}
