import { expect, it } from 'vitest';
import { createTaskApp } from '../../../test/fixtures/task-app.ts';
import { parseShallow } from './read-body.ts';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

it('JSON of 100 levels is read, brackets in its texts do not count, and deeper JSON is refused', () => {
  expect(parseShallow(nested(100))).toEqual(JSON.parse(nested(100)));
  const texts = { a: '['.repeat(200), b: '\\"[{'.repeat(200) };
  expect(parseShallow(JSON.stringify(texts))).toEqual(texts);
  expect(() => parseShallow(nested(101))).toThrow('more than 100');
});

it.each(['/api/v1/layers', '/api/v1/tasks', '/api/v1/gridsets'])(
  'a body of %s that is 30,000 levels deep is answered with 400',
  async (path) => {
    const body = `{"source":${nested(30_000)}}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await createTaskApp().request('POST', path, { headers, body });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('more than 100')]);
  },
);
