import { expect, it } from 'vitest';
import { Counters } from './counters.ts';

it('counters add up by name and labels, and give each count to another process once', () => {
  const [server, worker] = [new Counters(), new Counters()];
  server.count('flights_started_total', { layer: 'roads' });
  worker.count('flights_started_total', { layer: 'roads' }, 2);
  worker.count('flights_started_total', { layer: 'rivers' });
  for (const count of [...worker.take(), ...worker.take()]) server.add(count);
  expect(server.all()).toEqual([
    { name: 'flights_started_total', labels: { layer: 'roads' }, value: 3 },
    { name: 'flights_started_total', labels: { layer: 'rivers' }, value: 1 },
  ]);
});

it('counters beyond ten thousand series are summed without their labels', () => {
  const counters = new Counters();
  for (let at = 0; at < 10_003; at++) counters.count('reads_refused_total', { layer: `layer-${at}` });
  expect(counters.all()).toHaveLength(10_001);
  expect(counters.all().at(-1)).toEqual({ name: 'reads_refused_total', labels: { layer: '' }, value: 3 });
});
