/** The chapter of the documentation about each page of the console; others are in the chapter `console.html`. */
export const CHAPTERS: Readonly<Record<string, string>> = {
  layers: 'layers.html',
  add: 'layers.html#from-a-map-service',
  gridsets: 'grid-sets.html',
  areas: 'settings.html#areas',
  seed: 'console.html#before-a-task-starts',
  tasks: 'tasks.html',
  schedules: 'schedules.html',
  quota: 'quota.html',
  upstreams: 'upstreams.html',
  changes: 'changes.html',
  accounts: 'security.html#users',
  keys: 'services/keys.html',
  audit: 'security.html#the-audit-log',
};

/** Relative to the page, as all addresses are. */
export function docsAddress(page: string): string {
  return `docs/${CHAPTERS[page] ?? 'console.html'}`;
}
