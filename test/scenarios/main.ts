/** npm run test:upstreams -- --seconds 120 --rate 40 --workers 3 --misses 2000 --away 10 (0 leaves a part out) */
import { parseArgs } from 'node:util';
import { runHangingMisses } from './hanging-run.ts';
import { runUnderLimit } from './limit-run.ts';
import { runReturns } from './return-run.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    rate: { type: 'string', default: '40' },
    workers: { type: 'string', default: '3' },
    people: { type: 'string', default: '10' },
    misses: { type: 'string', default: '2000' },
    away: { type: 'string', default: '10' },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function keepLimit(): Promise<boolean> {
  const ratePerSecond = Number(values.rate);
  const report = await runUnderLimit({
    seconds: Number(values.seconds),
    ratePerSecond,
    workers: Number(values.workers),
    people: Number(values.people),
  });
  say(
    `${report.requests} requests in ${values.seconds} s, ${report.perSecond.toFixed(1)} a second on average`,
  );
  say(`the most in any second: ${report.mostInASecond} of ${ratePerSecond} allowed`);
  say(
    `people served ${report.peopleServed}, refused ${report.peopleRefused}; the slowest after ${report.slowestPerson} ms`,
  );
  return report.mostInASecond <= ratePerSecond && report.peopleRefused === 0;
}

async function bearHanging(): Promise<boolean> {
  const report = await runHangingMisses(Number(values.misses), 10);
  const { hits, hitsServed, idleP99, hangingP99, memoryBefore, memoryMost } = report;
  say(
    `misses of a hanging upstream: ${JSON.stringify(report.misses)}, the slowest after ${report.slowestMissMs} ms`,
  );
  say(`without Retry-After: ${report.withoutRetryAfter}`);
  say(
    `hits meanwhile: ${hitsServed} of ${hits}, p99 ${hangingP99.toFixed(1)} ms (idle ${idleP99.toFixed(1)} ms)`,
  );
  say(`memory of the server: ${memoryBefore} MB before, ${memoryMost} MB at most`);
  return hitsServed === hits && report.withoutRetryAfter === 0;
}

async function seeReturns(): Promise<boolean> {
  const reports = await runReturns(Number(values.away));
  for (const { away, firstGoodTileMs, requests, asked } of reports) {
    say(
      `upstream ${away}: first good tile ${firstGoodTileMs} ms after its return; ${asked} tiles asked for, ${requests} requests sent`,
    );
  }
  return reports.every(({ firstGoodTileMs }) => firstGoodTileMs <= 1000);
}

const limitKept = Number(values.seconds) === 0 || (await keepLimit());
const hangingBorne = Number(values.misses) === 0 || (await bearHanging());
const returnsSeen = Number(values.away) === 0 || (await seeReturns());
process.exitCode = limitKept && hangingBorne && returnsSeen ? 0 : 1;
