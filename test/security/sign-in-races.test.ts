import { request } from 'node:http';
import { expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { openGuardedServer } from './guarded-server.ts';

const PASSWORD = 'another sentence for tests';

/** A request whose body stays back until `finish` is called. Resolves when the server has its head. */
async function holdBody(url: string, authorization: string, path: string, body: object) {
  const text = JSON.stringify(body);
  const headers = {
    authorization,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  const held = request(new URL(path, url), {
    method: 'POST',
    headers: { ...headers, expect: '100-continue' },
  });
  const status = new Promise<number>((resolve, reject) => {
    held.once('response', (answer) => resolve(answer.resume().statusCode ?? 0));
    held.once('error', reject);
  });
  await new Promise<void>((resolve) => held.once('continue', () => resolve()).flushHeaders());
  held.write(text.slice(0, 1));
  return {
    finish(): Promise<number> {
      held.end(text.slice(1));
      return status;
    },
  };
}

it('a request whose body ends after its administrator was removed, or its token was revoked, changes nothing', async () => {
  const server = await openGuardedServer();
  const api = async (method: string, path: string, body?: object) => {
    const headers = { authorization: server.authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/api/v1/${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  await api('POST', 'users', { name: 'eve', password: PASSWORD, role: 'admin' });
  const { token, id } = JSON.parse((await api('POST', 'tokens', { name: 'cron', role: 'admin' })).text);
  const ways = [
    { authorization: `Basic ${Buffer.from(`eve:${PASSWORD}`).toString('base64')}`, end: 'users/eve' },
    { authorization: `Bearer ${token}`, end: `tokens/${id}` },
  ];
  for (const { authorization, end } of ways) {
    const held = await holdBody(server.url, authorization, 'api/v1/tokens', { name: 'later', role: 'admin' });
    const who = async () => (await fetch(`${server.url}/api/v1/me`, { headers: { authorization } })).status;
    await eventually('the caller is known', who, (status) => status === 200);
    expect((await api('DELETE', end)).status).toBe(204);
    expect(await held.finish(), end).toBe(401);
  }
  expect((await api('GET', 'tokens')).text).not.toContain('later');
});
