import { readFileSync } from 'node:fs';
import { openBundleContender } from './bundle-contender.ts';
import { hash } from './synthetic-tiles.ts';

/** A process of its own, so that what it takes is what opening and reading the store takes. */
const [root = '', side = '0', reads = '0'] = process.argv.slice(2);
const before = memory();
const begun = performance.now();
const store = await openBundleContender(root);
await store.read(0, 0);
const openMilliseconds = performance.now() - begun;
const opened = memory();
for (let read = 0; read < Number(reads); read++) {
  await store.read(hash(read, 1) % Number(side), hash(read, 2) % Number(side));
}
process.stdout.write(JSON.stringify({ openMilliseconds, before, opened, read: memory() }));
await store.close();

/** Bytes of the process that lie in memory; those of files the system can take back at any time. */
function memory(): { readonly total: number; readonly files: number } {
  const status = readFileSync('/proc/self/status', 'utf8');
  const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { total: kilobytes('VmRSS') * 1024, files: kilobytes('RssFile') * 1024 };
}
