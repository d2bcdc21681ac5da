/** Programs whose tile addresses can be answered besides ours. */
export const COMPATIBLE_PROGRAMS = ['mapproxy', 'mapcache', 'geoserver'] as const;
export type CompatibleProgram = (typeof COMPATIBLE_PROGRAMS)[number];
