import { describe, expect, it } from 'vitest';
import { MetatileCutter } from './metatile-cutter.ts';
import { warmCutter } from './warm-cutter.ts';

describe('warming the cutter', () => {
  it('warming cuts every synthetic metatile, with and without a palette', async () => {
    const cutter = new MetatileCutter();
    await warmCutter(new AbortController().signal, cutter);
    expect(cutter.counts).toMatchObject({ decodes: 4, knownResponses: 0 });
    expect(cutter.counts.encodes).toBeGreaterThanOrEqual(4 * 9);
  });

  it('warming that is no longer wanted ends before the next metatile', async () => {
    const cutter = new MetatileCutter();
    const stop = new AbortController();
    const warming = warmCutter(stop.signal, cutter);
    stop.abort();
    await warming;
    expect(cutter.counts.decodes).toBe(1);
  });
});
