/** A configuration of many layers, each in three grid sets, with styles and a pattern; some have a schedule that is never due. */
export function manyLayers(count: number, schedules: number): string {
  const layers = Array.from({ length: count }, (_, index) => layer(index, index < schedules));
  return `log: { level: error }\ntasks: { workers: 0 }\nlayers:\n${layers.join('')}`;
}

const SCHEDULE = `    schedules:
      - { name: yearly, cron: '0 3 1 1 *', timeZone: UTC, type: seed, zoomStart: 0, zoomStop: 1 }
`;

function layer(index: number, isScheduled: boolean): string {
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
${isScheduled ? SCHEDULE : ''}`;
}
