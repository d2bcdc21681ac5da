import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { needs, programPath } from '../fixtures/needs.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook', string>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const RULES = join(root, 'deploy/prometheus/alerts.yaml');
const RULE_TESTS = join(root, 'deploy/prometheus/alerts.test.yaml');

const { groups } = load(readFileSync(RULES, 'utf8')) as { groups: readonly { rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** Rejects with what it prints when it finds a fault. */
function promtool(...args: readonly string[]): Promise<unknown> {
  return promisify(execFile)(programPath('prometheus'), args);
}

describe('alert rules', () => {
  it('promtool accepts the rules', needs('prometheus'), () => promtool('check', 'rules', RULES));

  it('alerts are raised when they should be and not otherwise', needs('prometheus'), () =>
    promtool('test', 'rules', RULE_TESTS),
  );

  it('every alert is tried by a test of promtool', () => {
    const tests = readFileSync(RULE_TESTS, 'utf8');
    expect(rules.map(({ alert }) => alert).filter((name) => !tests.includes(name))).toEqual([]);
  });

  it('every alert says what happened and leads to a section that names it', () => {
    const sections = readFileSync(join(root, 'docs/alerts.md'), 'utf8').split(/^## /m);
    for (const { alert, annotations } of rules) {
      const section = sections.find((text) => text.includes(`\`${alert}\`, `)) ?? '';
      const anchor = section.split('\n')[0]?.toLowerCase().replaceAll(' ', '-');
      expect([alert, annotations.runbook]).toEqual([alert, `docs/alerts.md#${anchor}`]);
      expect(annotations.summary.length * annotations.description.length).toBeGreaterThan(0);
    }
  });
});
