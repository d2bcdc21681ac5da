import { describe, expect, it } from 'vitest';
import { conditionOf, freshnessOf } from './read-response.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');

describe('how long an answer is good', () => {
  it.each([
    [{}, null],
    [{ 'cache-control': 'public, max-age=3600' }, 3600],
    [{ 'cache-control': 'max-age=60, s-maxage=600' }, 600],
    [{ 'cache-control': 'no-cache' }, 0],
    [{ 'cache-control': 'private, no-store, max-age=60' }, 0],
    [{ 'cache-control': 'max-age=99999999999999' }, 366 * 86_400],
    [{ 'cache-control': 'stale-max-age=5' }, null],
    [{ expires: 'Thu, 01 Jan 2026 12:10:00 GMT' }, 600],
    [{ expires: 'Thu, 01 Jan 2026 12:10:00 GMT', date: 'Thu, 01 Jan 2026 12:05:00 GMT' }, 300],
    [{ expires: 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
    [{ expires: 'never' }, 0],
    [{ expires: '0' }, 0],
    [{ 'cache-control': 'max-age=3600', age: '600' }, 3000],
    [{ 'cache-control': 'max-age=3600', age: '4000' }, 0],
    [{ 'cache-control': 'max-age=3600', age: 'old' }, 3600],
    [{ age: '600' }, null],
  ])('the freshness of an answer is read from %j', (headers, seconds) => {
    expect(freshnessOf(headers, NOW).freshSeconds).toBe(seconds);
  });
});

describe('a version of an answer', () => {
  it.each([
    [{ etag: '"abc"' }, { 'if-none-match': '"abc"' }],
    [{ etag: 'W/"abc"', 'last-modified': 'Thu, 01 Jan 2026 12:00:00 GMT' }, { 'if-none-match': 'W/"abc"' }],
    [
      { 'last-modified': 'Thu, 01 Jan 2026 12:00:00 GMT' },
      { 'if-modified-since': 'Thu, 01 Jan 2026 12:00:00 GMT' },
    ],
    [{ etag: 'not quoted' }, {}],
    [{ 'last-modified': 'yesterday' }, {}],
    [{ etag: `"${'x'.repeat(300)}"` }, {}],
    [{}, {}],
  ])('an answer known by %j is requested again with %j', (headers, condition) => {
    expect(conditionOf(freshnessOf(headers, NOW).validator)).toEqual(condition);
  });
});
