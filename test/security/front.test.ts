import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { inLength, isLong, randomSeed } from '../fixtures/length.ts';
import { FROM_SOURCES } from '../fixtures/processes.ts';
import type { Findings } from './front-conversations.ts';

const REQUESTS = inLength(10_000, 1_000_000);
const PROCESSES = inLength(1, 2);
const EARLY_OF = inLength(3, 1);
/** A busy machine sends fewer requests than those: the figures tell. */
const MINUTES = Number(process.env.FRONT_MINUTES ?? 30);
const SEED = randomSeed();
const CONVERSATIONS = fileURLToPath(new URL('./front-conversations.ts', import.meta.url));
/** A process uses timers that Node.js 20 and 22 call experimental. */
const EXEC_ARGV = [...FROM_SOURCES, '--disable-warning=ExperimentalWarning'];

async function findings(seed: number): Promise<Findings> {
  const args = [seed, Math.ceil(REQUESTS / PROCESSES), EARLY_OF, MINUTES].map(String);
  const child = await started(fork(CONVERSATIONS, args, { execArgv: EXEC_ARGV }));
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The conversations ended with ${code} and without a report.`);
  });
  const [found] = await Promise.race([once(child, 'message'), ended]);
  return found;
}

it('the front and node:http give the same answers to the same bytes', async () => {
  const all = await Promise.all(Array.from({ length: PROCESSES }, (_, at) => findings(SEED + at)));
  for (const { figures, differences } of all) {
    if (isLong) process.stdout.write(`${JSON.stringify({ ...figures, differences: differences.length })}\n`);
    expect(differences, `TEST_SEED=${SEED}`).toEqual([]);
    // Otherwise it has compared node:http with itself, or hardly anything.
    expect(figures.byFront).toBeGreaterThan(figures.answers / 5);
    expect(figures.handedOver).toBeGreaterThan(figures.conversations / 8);
    expect(figures.broken).toBeLessThan(figures.conversations / 5);
  }
});
