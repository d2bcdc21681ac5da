import { isDeepStrictEqual } from 'node:util';

const MAX_NAME = 64;

/** Adds a bucket under a name like the wanted one, and returns it: that of an equal bucket, or one that no other has. */
export function nameBucket(buckets: Map<string, object>, wanted: string, bucket: object): string {
  const base = wanted.replaceAll(/[^\w-]/g, '_') || 'bucket';
  for (let count = 1; ; count++) {
    const end = count === 1 ? '' : `-${count}`;
    const name = base.slice(0, MAX_NAME - end.length) + end;
    const known = buckets.get(name);
    if (known && !isDeepStrictEqual(known, bucket)) continue;
    buckets.set(name, bucket);
    return name;
  }
}
