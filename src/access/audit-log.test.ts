import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHeldClock, type HeldClock, temporaryFolder } from '../../test/fixtures/accounts.ts';
import { silentLogger } from '../lib/logger.ts';
import { type AuditLog, type AuditLogOptions, openAuditLog } from './audit-log.ts';

function open(changes: Partial<AuditLogOptions> = {}): { log: AuditLog; path: string; clock: HeldClock } {
  const clock = createHeldClock();
  const path = changes.path ?? join(temporaryFolder(), 'audit.log');
  const log = openAuditLog({ path, clock, log: silentLogger, ...changes });
  onTestFinished(() => log.close());
  return { log, path, clock };
}

function change(id: string, more = {}) {
  return {
    id,
    phase: 'ended',
    action: 'PUT /diskquota.json',
    outcome: 'done',
    actor: 'mary',
    ...more,
  } as const;
}

function linesOf(path: string): readonly { id: string }[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the audit log', () => {
  it('the audit log has each entry on a line of its own, closed to strangers, once it is recorded', async () => {
    const { log, path } = open();
    await log.record(change('1', { before: { quota: 1n }, after: 'two\nlines' }));
    await Promise.all([log.record(change('2')), log.record(change('3'))]);
    expect(linesOf(path)).toMatchObject([{ id: '1', before: { quota: 1 } }, { id: '2' }, { id: '3' }]);
    expect(statSync(path).mode & 0o007).toBe(0);
  });

  it('begins a new file when one is full, and keeps so many', async () => {
    const { log, path } = open({ maxBytes: 500, keep: 2 });
    for (let i = 1; i <= 12; i++) await log.record(change(String(i)));
    expect(existsSync(`${path}.2`)).toBe(true);
    expect(existsSync(`${path}.3`)).toBe(false);
    const ids = (await log.read({ limit: 100 })).map(({ id }) => id);
    expect(ids[0]).toBe('12');
    expect(ids).toEqual(ids.toSorted((a, b) => Number(b) - Number(a)));
  });

  it('goes on in a new file when somebody has moved it away', async () => {
    const { log, path } = open();
    await log.record(change('1'));
    renameSync(path, `${path}.moved`);
    await log.record(change('2'));
    expect(linesOf(path)).toMatchObject([{ id: '2' }]);
  });

  it('refuses what it cannot write, and takes up again when it can', async () => {
    const { log, path } = open();
    mkdirSync(path);
    await expect(log.record(change('1'))).rejects.toMatchObject({ code: 'audit-unwritable' });
    rmSync(path, { recursive: true });
    await log.record(change('2'));
    expect(linesOf(path)).toMatchObject([{ id: '2' }]);
  });

  it('the audit log is read past a line that a crash has torn', async () => {
    const { log, path } = open();
    appendFileSync(path, '{"time":"2026-01-01T00:00:00.000Z","action":"POST /rest');
    await log.record(change('1'));
    expect(await log.read({ limit: 10 })).toMatchObject([{ id: '1' }]);
  });

  it('the audit log is read from its end on, however long its lines are', async () => {
    const { log } = open();
    const ids = Array.from({ length: 20 }, (_, i) => String(i));
    const after = 'é'.repeat(30_000);
    for (const id of ids) await log.record(change(id, { after }));
    const entries = await log.read({ limit: 100 });
    expect(entries.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(entries.every((entry) => entry.after === after)).toBe(true);
  });

  it('shows a change once, and one that never ended as unknown', async () => {
    const { log } = open();
    await log.record({ ...change('1'), phase: 'begun', outcome: null });
    await log.record({ ...change('2'), phase: 'begun', outcome: null });
    await log.record(change('1'));
    const entries = await log.read({ limit: 10 });
    expect(entries.map(({ id, outcome }) => [id, outcome]).toSorted()).toEqual([
      ['1', 'done'],
      ['2', null],
    ]);
  });

  it('finds entries by who, what, when and how it ended', async () => {
    const { log, clock } = open();
    await log.record(change('1', { actor: 'bob', target: 'layer:world' }));
    clock.advance(60_000);
    await log.record(change('2', { outcome: 'refused' }));
    clock.advance(60_000);
    await log.record(change('3', { action: 'POST /masstruncate' }));
    const idsOf = async (filter: object) => (await log.read({ limit: 10, ...filter })).map(({ id }) => id);
    expect(await idsOf({})).toEqual(['3', '2', '1']);
    expect(await idsOf({ limit: 2 })).toEqual(['3', '2']);
    expect(await idsOf({ actor: 'bob' })).toEqual(['1']);
    expect(await idsOf({ target: 'layer:world' })).toEqual(['1']);
    expect(await idsOf({ outcome: 'refused' })).toEqual(['2']);
    expect(await idsOf({ text: 'masstruncate' })).toEqual(['3']);
    expect(await idsOf({ since: clock.now() - 60_000 })).toEqual(['3', '2']);
    expect(await idsOf({ until: clock.now() })).toEqual(['2', '1']);
  });

  it('the audit log is not flooded by strangers, but says how many it left out', async () => {
    const { log, path, clock } = open();
    for (let i = 0; i < 1000; i++) log.note(change(String(i), { action: 'login' }));
    clock.advance(60_000);
    log.note(change('last', { action: 'login' }));
    await log.record(change('done'));
    expect(linesOf(path)).toHaveLength(122);
    expect(linesOf(path)[120]).toMatchObject({ id: 'last', after: { leftOutBefore: 880 } });
  });
});
