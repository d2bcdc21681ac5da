import { isDeepStrictEqual } from 'node:util';

const MAX_NAME = 64;

/** Adds a bucket and returns its name, which is like `wanted`: that of an equal bucket, or a new one. */
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
