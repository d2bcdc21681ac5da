import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FollowRecord, isDrawnOtherwise, mergeDocument, type PassRules, planPass } from './plan-pass.ts';

const RULES: PassRules = {
  prefix: 'p-',
  new: 'declare',
  gone: 'disable',
  isWanted: (name) => !name.startsWith('x'),
  isDeclared: () => true,
};

function serviceOf(...names: string[]) {
  return { names: new Set(names), layers: new Map(names.map((name) => [name, name])) };
}

/** The records after a pass, as `runPass` writes them. */
async function passed(
  service: ReturnType<typeof serviceOf>,
  records: ReadonlyMap<string, FollowRecord>,
  rules: PassRules = RULES,
) {
  const steps = await planPass(service, records, rules);
  const next = new Map(records);
  for (const { layer, action, state, digest } of steps) {
    if (action === 'forget') next.delete(layer);
    else if (action !== 'none') next.set(layer, { layer, state, digest, drawing: null });
  }
  return { actions: steps.map(({ layer, action }) => `${action} ${layer}`), next };
}

describe('a pass of a follow', () => {
  it('a pass after a pass has nothing to do, whatever the server had before', async () => {
    const names = fc.subarray(['a', 'b', 'c', 'd']);
    await fc.assert(
      fc.asyncProperty(fc.array(names, { maxLength: 6 }), names, async (history, last) => {
        const declared = new Set<string>();
        const rules = { ...RULES, isDeclared: (layer: string) => declared.has(layer) };
        let records: ReadonlyMap<string, FollowRecord> = new Map();
        const missing = new Map<string, number>();
        for (const listed of [...history, last, last, last]) {
          const { actions, next } = await passed(serviceOf(...listed), records, rules);
          for (const name of 'abcd')
            missing.set(name, listed.includes(name) ? 0 : (missing.get(name) ?? 0) + 1);
          for (const action of actions) {
            const [verb, layer = ''] = action.split(' ');
            if (verb === 'declare') declared.add(layer);
            // Never on one witness.
            if (verb === 'disable') expect(missing.get(layer.slice(2))).toBeGreaterThanOrEqual(2);
          }
          records = next;
        }
        expect((await passed(serviceOf(...last), records, rules)).actions).toEqual([]);
        for (const name of last) expect(records.get(`p-${name}`)?.state).toBe('followed');
      }),
      { numRuns: 50 },
    );
  });

  it('a layer that the patterns no longer match is forgotten, and stays as it is', async () => {
    const { next } = await passed(serviceOf('a'), new Map(), { ...RULES, isDeclared: () => false });
    const narrower = { ...RULES, isWanted: () => false };
    expect((await passed({ names: new Set(['a']), layers: new Map() }, next, narrower)).actions).toEqual([
      'forget p-a',
    ]);
  });
});

describe('a changed document', () => {
  it('changes what the server has changed, and keeps what an administrator has set', () => {
    const former = { title: 'a', source: { url: 'u', layers: 'x' }, gridSets: [1] };
    const next = { title: 'b', source: { url: 'v', layers: 'x' }, gridSets: [2], queryable: true };
    const current = {
      ...former,
      title: 'mine',
      source: { ...former.source, password: 'p' },
      metatile: [1, 1],
    };
    expect(mergeDocument(current, former, next)).toEqual({
      title: 'mine',
      source: { url: 'v', layers: 'x', password: 'p' },
      gridSets: [2],
      metatile: [1, 1],
      queryable: true,
    });
    const { queryable, ...without } = next;
    expect(queryable).toBe(true);
    expect(mergeDocument(next, next, without)).toEqual(without);
  });
});

it('only a style that cached tiles may show makes a layer drawn otherwise', () => {
  expect(isDrawnOtherwise({ '': 'a', night: 'b' }, { '': 'a', night: 'c' })).toBe(true);
  expect(isDrawnOtherwise({ '': 'a' }, { '': 'a', night: 'c' })).toBe(false);
  expect(isDrawnOtherwise({ '': 'a', night: 'b' }, { '': 'a' })).toBe(false);
  expect(isDrawnOtherwise(null, { '': 'a' })).toBe(false);
});
