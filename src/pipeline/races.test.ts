import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { raise } from '../../test/contracts/tile-store-tools.ts';
import { createGate, until } from '../../test/fixtures/eventually.ts';
import { inLength } from '../../test/fixtures/length.ts';
import { openPipelineHarness, type PipelineHarness } from '../../test/fixtures/pipeline-harness.ts';
import { TilewardenError } from '../domain/errors.ts';

/** The map's version is the number of truncations so far, from 1: an answer older than the last one is a fault. */
class RaceModel {
  readonly harness: PipelineHarness = openPipelineHarness({ settings: { maxWaitingReads: 12 } });
  readonly held: (() => void)[] = [];
  readonly reads: { readonly outcome: Promise<void>; readonly leave: AbortController }[] = [];

  constructor() {
    this.harness.source.answer = async (request) => {
      const answer = this.harness.source.draw(request);
      const failed = await new Promise<boolean>((resolve) => {
        this.held.push(() => resolve(false));
        this.failNext = () => resolve(true);
      });
      if (failed) throw new TilewardenError('source-unavailable', 'down');
      return answer;
    };
  }

  failNext: () => void = () => {};

  read(x: number): void {
    const leave = new AbortController();
    const oldest = this.harness.source.version;
    const check = async () => {
      const { bytes } = await this.harness.read(4, x, 6, leave.signal);
      for (let version = oldest; version <= this.harness.source.version; version++) {
        if (await this.harness.shows(bytes, { z: 4, x, y: 6 }, version)) return;
      }
      throw new Error(`a tile older than version ${oldest} was answered`);
    };
    this.reads.push({ outcome: check().catch(ignoreFailures), leave });
  }

  async truncate(): Promise<void> {
    await raise(this.harness.store, 'roads');
    await this.harness.store.drop('roads', null);
    this.harness.source.version++;
    this.harness.pipeline.forgetPlaces('roads', undefined);
  }

  renew(mode: 'all' | 'missing'): void {
    const leave = new AbortController();
    const oldest = this.harness.source.version;
    const check = async () => {
      const { made, present } = await this.harness.renew(mode, 4, 5, 6, leave.signal);
      expect(made + present).toBe(16);
      const found = await this.harness.store.get(this.harness.tiles.set, { z: 4, x: 5, y: 6 });
      // A truncation may have emptied the store between the renewal and this look.
      if (!found) return;
      for (let version = oldest; version <= this.harness.source.version; version++) {
        if (await this.harness.shows(found.bytes, { z: 4, x: 5, y: 6 }, version)) return;
      }
      throw new Error(`a tile older than version ${oldest} was left by a renewal`);
    };
    this.reads.push({ outcome: check().catch(ignoreFailures), leave });
  }

  async finish(): Promise<void> {
    const all = Promise.all(this.reads.map(({ outcome }) => outcome));
    let done = false;
    const finished = all.finally(() => {
      done = true;
    });
    await until(() => {
      for (const release of this.held.splice(0)) release();
      return done && this.harness.pipeline.status().flights === 0;
    });
    await finished;
    expect(this.harness.pipeline.status()).toMatchObject({ flights: 0, waitingReads: 0 });
    const found = await this.harness.store.get(this.harness.tiles.set, { z: 4, x: 5, y: 6 });
    const { version } = this.harness.source;
    if (found) expect(await this.harness.shows(found.bytes, { z: 4, x: 5, y: 6 }, version)).toBe(true);
    await this.harness.close();
  }
}

/** Being refused, aborted or failed is an honest answer; a wrong tile is not. */
function ignoreFailures(error: unknown): void {
  const honest = error instanceof TilewardenError || (error instanceof Error && error.message === 'left');
  if (!honest) throw error;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('a reader does not join a flight with an earlier ticket than a truncation that only the store knows', async () => {
  const harness = openPipelineHarness();
  const gate = createGate();
  const draw = harness.source.draw.bind(harness.source);
  harness.source.answer = async (request) => {
    const drawn = draw(request);
    if (harness.source.version === 1) await gate.opened;
    return drawn;
  };
  const early = harness.read(4, 5, 6);
  await until(() => harness.source.requests.length === 1);
  await raise(harness.store, 'roads');
  harness.source.version = 2;
  const { bytes } = await harness.read(4, 5, 6);
  expect(await harness.shows(bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
  gate.open();
  await early;
  await harness.close();
});

describe('readers, renewals, truncations, failures and departures in any order', () => {
  it('no tile older than the last truncation is served or kept, whatever happens in any order', async () => {
    const action = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ do: fc.constant('read' as const), x: fc.integer({ min: 4, max: 7 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('renew' as const),
          mode: fc.constantFrom('all' as const, 'missing' as const),
        }),
      },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat(9) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('leave' as const), pick: fc.nat(9) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('truncate' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        const model = new RaceModel();
        for (const step of actions) {
          if (step.do === 'read') model.read(step.x);
          if (step.do === 'renew') model.renew(step.mode);
          if (step.do === 'release') model.held.splice(step.pick % (model.held.length || 1), 1)[0]?.();
          if (step.do === 'leave') model.reads[step.pick]?.leave.abort(new Error('left'));
          if (step.do === 'truncate') await model.truncate();
          if (step.do === 'fail') model.failNext();
          if (step.do === 'wait') model.harness.clock.advance(1001);
          if (step.do === 'turn') await turn();
        }
        await model.finish();
      }),
      { numRuns: inLength(60, 2000) },
    );
  });
});
