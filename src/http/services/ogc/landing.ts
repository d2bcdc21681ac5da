import type { Layer } from '../../../domain/layer.ts';
import { jsonLink, type OgcLink, ogcRelation, selfLinks } from './ogc-link.ts';

const COMMON = 'http://www.opengis.net/spec/ogcapi-common-1/1.0/conf';
const TILES = 'http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf';

/** Nothing stands here that is not kept: docs/services/ogc-api-tiles.md says by what. */
const CLASSES = [
  ...['core', 'landing-page', 'json', 'html'].map((name) => `${COMMON}/${name}`),
  ...['core', 'tileset', 'tilesets-list', 'geodata-tilesets'].map((name) => `${TILES}/${name}`),
];

/** Classes about an encoding are declared where there are tiles in it. */
const ENCODINGS: readonly (readonly [contentType: string, name: string])[] = [
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['application/vnd.mapbox-vector-tile', 'mvt'],
];

export function describeConformance(root: string, layers: readonly Layer[]): object {
  const offered = new Set(layers.flatMap(({ formats }) => formats.map(({ contentType }) => contentType)));
  const encodings = ENCODINGS.filter(([contentType]) => offered.has(contentType));
  return {
    conformsTo: [...CLASSES, ...encodings.map(([, name]) => `${TILES}/${name}`)],
    links: selfLinks(`${root}/conformance`),
  };
}

export function describeLanding(root: string): object {
  return {
    title: 'Tilewarden',
    description: 'Map tiles from a cache, by OGC API – Tiles',
    links: landingLinks(root),
  };
}

function landingLinks(root: string): readonly OgcLink[] {
  return [
    ...selfLinks(root),
    {
      href: `${root}/api`,
      rel: 'service-desc',
      type: 'application/vnd.oai.openapi+json;version=3.0',
      title: 'The definition of this interface',
    },
    jsonLink(`${root}/conformance`, 'conformance', 'What it conforms to'),
    jsonLink(`${root}/conformance`, ogcRelation('conformance'), 'What it conforms to'),
    jsonLink(`${root}/collections`, 'data', 'The layers'),
    jsonLink(`${root}/collections`, ogcRelation('data'), 'The layers'),
    jsonLink(`${root}/tileMatrixSets`, ogcRelation('tiling-schemes'), 'The tile matrix sets'),
  ];
}
