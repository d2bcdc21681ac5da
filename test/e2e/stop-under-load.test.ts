import { Agent, type ClientRequest, get, type IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { pictureLayer } from '../fixtures/configurations.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength, inTurn } from '../fixtures/length.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type RunningServer, startServer } from './server.ts';

const PROCESSES = inTurn([1, 3]);
const CALLERS = 60;
const ROUNDS = inLength(1, 100);
const ANSWERS_EACH = 5;
const TILE = '/tiles/world/0/0/0.png';

interface Tally {
  answered: number;
  /** Connections that the server did not accept. */
  refused: number;
  /** Requests on a kept connection that never got a complete response. */
  lost: string[];
}

/** Repeats requests on one connection, or on a new one after `Connection: close`, until the server no longer answers. */
async function callUntilRefused(url: string, tally: Tally): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    let goesOn = true;
    while (goesOn) goesOn = await callOnce(url, agent, tally);
  } finally {
    agent.destroy();
  }
}

async function callOnce(url: string, agent: Agent, tally: Tally): Promise<boolean> {
  const request = get(url, { agent });
  try {
    const status = await wholeResponse(request);
    if (status !== 200) tally.lost.push(`status ${status}`);
    tally.answered += 1;
    return true;
  } catch (error) {
    // A new connection may be refused, but not one that already had a response.
    if (request.reusedSocket) tally.lost.push(String(error));
    if (!request.reusedSocket) tally.refused += 1;
    return false;
  }
}

function wholeResponse(request: ClientRequest): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request.once('error', reject);
    request.once('response', (response: IncomingMessage) => {
      response.once('error', reject);
      response.once('end', () => resolve(response.statusCode));
      response.resume();
    });
  });
}

async function stopUnderLoad(server: RunningServer, tally: Tally): Promise<void> {
  const url = server.url + TILE;
  const enough = tally.answered + CALLERS * ANSWERS_EACH;
  const callers = Array.from({ length: CALLERS }, () => callUntilRefused(url, tally));
  await eventually(
    'the server is under load',
    () => tally.answered,
    (answered) => answered >= enough,
  );
  const end = await server.stop();
  expect(end.code).toBe(0);
  await Promise.all(callers);
}

it.each(PROCESSES)('a stop of %i process(es) under load loses no accepted request', async (processes) => {
  const tally: Tally = { answered: 0, refused: 0, lost: [] };
  const data = temporaryFolder();
  const config = await pictureLayer('world', 0);
  for (let round = 0; round < ROUNDS; round += 1) {
    const args = ['--processes', String(processes)];
    await stopUnderLoad(await startServer({ data, config, args }), tally);
  }
  process.stdout.write(
    `${ROUNDS} stops of ${processes} under load: ${tally.answered} answered, ${tally.refused} refused, ${tally.lost.length} lost\n`,
  );
  expect(tally.lost).toEqual([]);
});
