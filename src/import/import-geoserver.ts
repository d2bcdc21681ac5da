import { childOf, childrenOf, textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import type { ImportReport } from './import-report.ts';

/** Files of a GeoServer data folder, read. */
export interface GeoServerFolder {
  /** Those of `gwc-layers/`. */
  readonly tileLayers: readonly XmlElement[];
  /** `gwc/geowebcache.xml`, which has its grid sets; null: there is none. */
  readonly geowebcache: XmlElement | null;
  /** `global.xml`; null: there is none. */
  readonly global: XmlElement | null;
}

export const TILE_LAYER = 'GeoServerTileLayer';
const USUAL_ADDRESS = 'http://localhost:8080/geoserver';
/** Of GeoServer's catalog, without a meaning outside it. */
const INTERNAL = ['id', 'cacheWarningSkips'];

/** The tile layers as a `geowebcache.xml` of WMS layers that GeoServer draws. */
export function geoServerAsGeoWebCache(folder: GeoServerFolder, report: ImportReport): XmlElement {
  const { tileLayers, geowebcache, global } = folder;
  const [first] = tileLayers;
  const place = first?.place ?? { line: 1, column: 1 };
  const node = (name: string, content: string | readonly XmlElement[]): XmlElement => {
    const inner =
      typeof content === 'string' ? { text: content, children: [] } : { text: '', children: content };
    return { name, attributes: new Map(), place, ...inner };
  };
  const wms = `${addressOf(global, report)}/wms`;
  const layers = tileLayers.map((layer) => {
    const own = layer.children.filter(({ name }) => !INTERNAL.includes(name));
    const source = [node('wmsUrl', [node('string', wms)]), node('wmsLayers', textIn(layer, 'name'))];
    return { ...layer, name: 'wmsLayer', children: [...own, ...source] };
  });
  const gridSets = geowebcache ? childrenOf(geowebcache, 'gridSets') : [];
  return node('gwcConfiguration', [...gridSets, node('layers', layers)]);
}

/** Its own address is in the data folder only where a proxy is in front of it. */
function addressOf(global: XmlElement | null, report: ImportReport): string {
  const settings = global && (childOf(global, 'settings') ?? global);
  const proxied = settings && textIn(settings, 'proxyBaseUrl').replace(/\/$/, '');
  const about = report.about('global.xml');
  if (proxied && URL.canParse(proxied)) {
    about.changed(
      'proxyBaseUrl',
      `GeoServer is asked at ${proxied}; better write its own address into url of the sources`,
    );
    return proxied;
  }
  about.changed(
    'proxyBaseUrl',
    `says no address: ${USUAL_ADDRESS} is assumed; write yours into url of the sources`,
  );
  return USUAL_ADDRESS;
}
