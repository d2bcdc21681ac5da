import { describe, expect, it } from 'vitest';
import { ByteCache } from './byte-cache.ts';

describe('a cache bounded by bytes', () => {
  it('drops what was used longest ago, keys counted too', () => {
    const cache = new ByteCache(30);
    cache.set('a', Buffer.alloc(10));
    cache.set('b', Buffer.alloc(10));
    cache.get('a');
    cache.set('c', Buffer.alloc(10));
    expect(['a', 'b', 'c'].filter((key) => cache.get(key) !== null)).toEqual(['a', 'c']);
    expect(cache.bytes).toBe(24);
  });

  it('counts a replaced entry once, and keeps nothing that is too large by itself', () => {
    const cache = new ByteCache(30);
    cache.set('a', Buffer.alloc(10));
    cache.set('a', Buffer.alloc(12));
    expect(cache.bytes).toBe(14);
    cache.set('b', Buffer.alloc(31));
    expect(cache.bytes).toBe(0);
  });
});
