import { describe, expect, it } from 'vitest';
import { RecentMap } from './recent-map.ts';

describe('a map of recent things', () => {
  it('a recent map forgets what was used longest ago when it weighs too much', () => {
    const map = new RecentMap<string, number>(10);
    map.set('a', 1, 4);
    map.set('b', 2, 4);
    expect(map.get('a')).toBe(1);
    map.set('c', 3, 4);
    expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, null, 3]);
    map.set('d', 4, 2);
    expect([map.get('a'), map.get('c'), map.get('d')]).toEqual([1, 3, 4]);
  });

  it('a recent map replaces the value of the same key', () => {
    const map = new RecentMap<string, number>(10);
    map.set('a', 1, 9);
    map.set('a', 2, 3);
    map.set('b', 3, 7);
    expect([map.get('a'), map.get('b')]).toEqual([2, 3]);
  });

  it('a recent map does not keep a value that is heavier than its maximum', () => {
    const map = new RecentMap<string, number>(10);
    map.set('a', 1, 5);
    map.set('b', 2, 11);
    expect([map.get('a'), map.get('b')]).toEqual([1, null]);
  });
});
