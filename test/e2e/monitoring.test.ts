import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dump, load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { needs, programPath } from '../fixtures/needs.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { openServer } from './server-in-process.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook', string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const RULES = join(root, 'deploy/prometheus/alerts.yaml');
const RULE_TESTS = join(root, 'deploy/prometheus/alerts.test.yaml');

const { groups } = load(readFileSync(RULES, 'utf8')) as { groups: readonly { rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

const DASHBOARD = join(root, 'deploy/grafana/tilewarden.json');
const { panels, templating }: Dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8'));
const drawn = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
/** Inside `label_values(…, label)`. */
const listed = templating.list.flatMap(({ definition }) => definition?.match(/\((.*),/)?.[1] ?? []);
/** As Grafana sends them. */
const expressions = [...rules.map(({ expr }) => expr), ...drawn, ...listed].map((expr) =>
  expr.replaceAll('$__rate_interval', '5m'),
);

/** The used parts of Grafana's model of a dashboard (schema version 39). */
const source = z.strictObject({ type: z.literal('prometheus'), uid: z.string() });
const place = z
  .strictObject({ x: z.int().min(0), y: z.int().min(0), w: z.int().min(1), h: z.int().min(1) })
  .refine(({ x, w }) => x + w <= 24, 'is wider than the grid');
const common = { id: z.int().positive(), title: z.string().min(1), gridPos: place };
const PANEL = z.discriminatedUnion('type', [
  z.strictObject({ ...common, type: z.literal('row'), collapsed: z.boolean(), panels: z.tuple([]) }),
  z.strictObject({
    ...common,
    type: z.enum(['stat', 'timeseries']),
    description: z.string(),
    datasource: source,
    fieldConfig: z.strictObject({
      defaults: z.strictObject({
        unit: z.enum(['none', 'short', 's', 'bytes', 'reqps', 'ops', 'percentunit']),
        min: z.number().optional(),
        noValue: z.string().optional(),
        max: z.number().optional(),
        custom: z.record(z.string(), z.unknown()).optional(),
        thresholds: z
          .strictObject({
            mode: z.enum(['absolute', 'percentage']),
            steps: z.array(z.strictObject({ color: z.string(), value: z.number().nullable() })).min(1),
          })
          .optional(),
      }),
      overrides: z.array(z.unknown()),
    }),
    targets: z
      .array(
        z.strictObject({
          refId: z.string().regex(/^[A-Z]$/),
          datasource: source,
          expr: z.string(),
          legendFormat: z.string(),
        }),
      )
      .min(1)
      .refine((all) => new Set(all.map(({ refId }) => refId)).size === all.length, 'has two equal refIds'),
    options: z.strictObject({
      legend: z.unknown().optional(),
      tooltip: z.unknown().optional(),
      reduceOptions: z.looseObject({ calcs: z.array(z.string()).min(1) }).optional(),
    }),
  }),
]);

/** Names that are neither labels, texts, functions, keywords nor durations. */
function metricsIn(expr: string): readonly string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]|\b(by|without|on)\s*\([^)]*\)/g, ' ');
  return [...bare.matchAll(/[a-zA-Z_:][\w:]*(?!\s*\(|[\w:])/g)]
    .map(([name]) => name)
    .filter((name) => !['and', 'or', 'unless'].includes(name));
}

/** Rejects with its output when it finds a fault. */
function promtool(...args: readonly string[]): Promise<unknown> {
  return promisify(execFile)(programPath('prometheus'), args);
}

describe('alert rules', () => {
  it('promtool accepts the alert rules', needs('prometheus'), () => promtool('check', 'rules', RULES));

  it('alerts are raised when they should be and not otherwise', needs('prometheus'), () =>
    promtool('test', 'rules', RULE_TESTS),
  );

  it('every alert has a test of promtool', () => {
    const tests = readFileSync(RULE_TESTS, 'utf8');
    expect(rules.map(({ alert }) => alert).filter((name) => !tests.includes(name))).toEqual([]);
  });

  it('every alert has a summary, a description and a link to its section of the docs', () => {
    const sections = readFileSync(join(root, 'docs/alerts.md'), 'utf8').split(/^## /m);
    for (const { alert, annotations } of rules) {
      const section = sections.find((text) => text.includes(`\`${alert}\`, `)) ?? '';
      const anchor = section.split('\n')[0]?.toLowerCase().replaceAll(' ', '-');
      expect([alert, annotations.runbook]).toEqual([alert, `docs/alerts.md#${anchor}`]);
      expect(annotations.summary.length * annotations.description.length).toBeGreaterThan(0);
    }
  });
});

describe('expressions of the dashboard and the alerts', () => {
  it('promtool can parse every expression of the dashboard and the alerts', needs('prometheus'), async () => {
    const file = join(temporaryFolder(), 'expressions.yaml');
    const recorded = expressions.map((expr, number) => ({ record: `expression:${number}`, expr }));
    writeFileSync(file, dump({ groups: [{ name: 'expressions', rules: recorded }] }));
    await promtool('check', 'rules', file);
  });

  it('the dashboard and the alerts use only metrics that a server has', async () => {
    const { url, authorization } = await openServer();
    const page = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
    const exported = new Set([...page.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name).concat('up'));
    const named = expressions.flatMap(metricsIn);
    expect(named.length).toBeGreaterThan(expressions.length);
    expect(named.filter((name) => !exported.has(name))).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('the dashboard reads every figure from the chosen data source', () => {
    const sources = panels.flatMap(({ datasource, targets = [] }) =>
      [datasource, ...targets.map((target) => target.datasource)].flatMap((source) => source?.uid ?? []),
    );
    expect([...new Set(sources)]).toEqual([`$\{datasource}`]);
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance', 'layer']);
  });

  it('the panels of the dashboard are valid for Grafana and do not overlap', () => {
    const placed = panels.map((panel) => PANEL.parse(panel).gridPos);
    const cells = placed.flatMap(({ x, y, w, h }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it('the panels of the dashboard have unique ids and titles', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  });
});
