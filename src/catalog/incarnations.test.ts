import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { createGridSetRegistry } from '../domain/grid-set.ts';
import {
  declaredIn,
  facetsOf,
  forgotten,
  incarnationIn,
  isReachable,
  joinedIncarnation,
  REMOVED,
  rebuiltRecord,
  splitIncarnation,
  type TileChoice,
  type TileFacets,
  type TileRecord,
} from './incarnations.ts';

const registry = createGridSetRegistry(builtInGridSets());
const SET = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };

function facets(source: string, defaults: string, grid: string): TileFacets {
  return { source, defaults, gridSets: new Map([['EPSG:900913', grid]]), below: [] };
}

function sourceDigest(source: object): string {
  return facetsOf({ source, parameters: [], gridSets: ['EPSG:4326'] }, registry).source;
}

const few = fc.constantFrom('a', 'b', 'c');
const change = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('declare' as const), facets: fc.tuple(few, few, few) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const) }) },
);

describe('incarnations', () => {
  it('incarnations separate tiles of each declaration, whatever was declared, removed and forgotten', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (history) => {
        let record: TileRecord | null = null;
        let fresh = 0;
        /** What each incarnation shows, since the layer was last removed. */
        let shows = new Map<string, string>();
        for (const [at, step] of history.entries()) {
          if (step.kind === 'remove') {
            record = REMOVED;
            shows = new Map();
          }
          if (step.kind === 'forget' && record) record = forgotten(record, at + 1);
          if (step.kind !== 'declare') continue;
          const declared = facets(...step.facets);
          fresh++;
          record = declaredIn(record, { facets: declared, at, choice: null, fresh, first: fresh });
          const current = incarnationIn(record, declared, SET);
          expect(current).not.toBeNull();
          const picture = step.facets.join();
          expect(shows.get(current ?? 'none') ?? picture).toBe(picture);
          shows.set(current ?? 'none', picture);
          expect(isReachable(record, { ...SET, incarnation: current ?? 'none' })).toBe(true);
        }
      }),
    );
  });

  it.each<[TileChoice | null, boolean, boolean]>([
    [null, false, true],
    ['stale', false, true],
    ['drop', false, false],
    ['keep', true, true],
  ])('after a new source with tiles=%s tiles are the same: %s, and still there: %s', (...row) => {
    const [choice, isSame, isThere] = row;
    const before = facets('a', 'd', 'g');
    const first = declaredIn(null, { facets: before, at: 1, choice: null, fresh: 5, first: 0 });
    const next = facets('b', 'd', 'g');
    const record = declaredIn(first, { facets: next, at: 2, choice, fresh: 9, first: 9 });
    expect(incarnationIn(record, next, SET) === '').toBe(isSame);
    expect(isReachable(record, SET)).toBe(isThere);
    // The former source is declared again.
    const back = declaredIn(record, { facets: before, at: 3, choice: null, fresh: 10, first: 10 });
    expect(incarnationIn(back, before, SET) === '').toBe(isThere);
    expect(isReachable(forgotten(record, 3), SET)).toBe(isSame);
  });

  it('tiles with parameters of their own survive a change of the defaults, others do not', () => {
    const first = declaredIn(null, {
      facets: facets('a', 'd', 'g'),
      at: 1,
      choice: null,
      fresh: 5,
      first: 0,
    });
    const next = facets('a', 'other', 'g');
    const record = declaredIn(first, { facets: next, at: 2, choice: null, fresh: 9, first: 9 });
    expect(incarnationIn(record, next, SET)).toBe('0-0-9.other');
    expect(incarnationIn(record, next, { ...SET, parametersId: 'styled' })).toBe('');
  });

  it('a process that still has the former declaration goes on with the tiles of that one', () => {
    const old = facets('a', 'd', 'g');
    const first = declaredIn(null, { facets: old, at: 1, choice: null, fresh: 5, first: 0 });
    const record = declaredIn(first, {
      facets: facets('b', 'd', 'g'),
      at: 2,
      choice: null,
      fresh: 9,
      first: 9,
    });
    expect(incarnationIn(record, old, SET)).toBe('');
    expect(incarnationIn(REMOVED, old, SET)).toBeNull();
  });

  it('after the database is lost a declaration finds the tiles again that were made by it, and no others', () => {
    const [old, now] = [facets('a', 'd', 'g'), facets('b', 'd', 'g')];
    const first = declaredIn(null, { facets: old, at: 1, choice: null, fresh: 5, first: 5 });
    const record = declaredIn(first, { facets: now, at: 2, choice: null, fresh: 9, first: 9 });
    const sets = [old, now].map((each) => ({ ...SET, incarnation: incarnationIn(record, each, SET) ?? '' }));
    for (const present of [
      null,
      declaredIn(null, { facets: now, at: 3, choice: null, fresh: 7, first: 0 }),
    ]) {
      const rebuilt = rebuiltRecord(present, sets, 4);
      const again = { at: 5, choice: null, fresh: 20, first: 20 };
      expect(incarnationIn(declaredIn(rebuilt, { ...again, facets: now }), now, SET)).toBe(
        sets[1]?.incarnation,
      );
      const other = facets('c', 'd', 'g');
      const changed = incarnationIn(declaredIn(rebuilt, { ...again, facets: other }), other, SET);
      expect(sets.map(({ incarnation }) => incarnation)).not.toContain(changed);
    }
    const back = declaredIn(rebuiltRecord(null, sets, 4), {
      facets: old,
      at: 5,
      choice: null,
      fresh: 20,
      first: 20,
    });
    expect(incarnationIn(back, old, SET)).toBe(sets[0]?.incarnation);
  });

  it('tiles without a number belong to the first declaration after the database is lost', () => {
    const declared = facets('a', 'd', 'g');
    const record = declaredIn(rebuiltRecord(null, [SET], 1), {
      facets: declared,
      at: 2,
      choice: null,
      fresh: 9,
      first: 9,
    });
    expect(incarnationIn(record, declared, SET)).toBe('');
  });

  it.each([
    ['wms', { password: 'y', username: 'u', timeoutSeconds: 9 }],
    ['wmts', { password: 'y', username: 'u', timeoutSeconds: 9 }],
    ['archive', { password: 'y', username: 'u', timeoutSeconds: 9 }],
    ['xyz', { password: 'y', username: 'u', timeoutSeconds: 9, keys: { k: '2' } }],
  ])('options of a connection of type %s change no tile: %o', (type, changed) => {
    const before = { type, url: 'http://maps.test/', password: 'x', timeoutSeconds: 5, keys: { k: '1' } };
    const source = type === 'xyz' ? before : { ...before, keys: undefined };
    expect(sourceDigest({ ...source, ...changed })).toBe(sourceDigest(source));
    const composed = (part: object) => sourceDigest({ type: 'layers', of: [{ source: part }] });
    expect(composed({ ...source, ...changed })).toBe(composed(source));
    expect(composed({ ...source, url: 'http://other.test/' })).not.toBe(composed(source));
  });

  it('the incarnation of a composed tile is split into those of its parts, however deep', () => {
    const inner = joinedIncarnation('b', ['c', '']);
    const whole = joinedIncarnation('a', [inner, 'd']) ?? '';
    expect(splitIncarnation(whole)).toEqual({ own: 'a', below: [inner, 'd'] });
    expect(splitIncarnation(inner ?? '')).toEqual({ own: 'b', below: ['c', ''] });
    expect(joinedIncarnation('a', ['', ''])).toBe('a');
    expect(joinedIncarnation('a', ['b', null])).toBeNull();
  });

  it.each(['design', 'styleKey', 'author', 'compass', 'token', 'username', 'password'])(
    'a new value of %s, in an address, a header or a vendor parameter, makes new tiles',
    (name) => {
      const source = (address: string, vendor: string, header: string) => ({
        type: 'wms',
        url: [`http://maps.test/wms?${name}=${address}`],
        vendorParameters: { [name]: vendor },
        headers: { [name]: header },
      });
      const digests = [
        source('winter', 'winter', 'winter'),
        source('summer', 'winter', 'winter'),
        source('winter', 'summer', 'winter'),
        source('winter', 'winter', 'summer'),
      ].map(sourceDigest);
      expect(new Set(digests).size).toBe(4);
    },
  );
});
