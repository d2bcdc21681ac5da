/** A configuration of as many layers as one wants, each in three grid sets, with styles and a pattern. */
export function manyLayers(count: number): string {
  const layers = Array.from({ length: count }, (_, index) => layerNumber(index));
  return `log: { level: warn }\ntasks: { workers: 0 }\nlayers:\n${layers.join('')}`;
}

function layerNumber(index: number): string {
  return `  - name: layer-${index}
    title: Layer number ${index}
    source: { type: wms, url: 'http://127.0.0.1:8090/wms', layers: states, version: 1.1.1, transparent: true }
    formats: [image/png, image/jpeg]
    gridSets: [EPSG:900913, { name: EPSG:4326, zoomStart: 0, zoomStop: 10, extent: [-130, 20, -60, 55] }, GoogleCRS84Quad]
    metatile: [4, 4]
    gutter: 10
    parameters:
      - { name: STYLES, default: population, values: [population, polygon, pophatch] }
      - { name: CQL_FILTER, default: INCLUDE, regex: '[A-Z_]+ [<>=]+ [0-9]+' }
    expireClients: 7200
`;
}
