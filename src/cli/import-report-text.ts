import type { ImportFate, ReportEntry } from '../import/import-report.ts';
import { amountOf } from './plain-words.ts';

/** Subjects that are named; of more the number is told. */
const NAMED = 3;

/** What became of what, the same of several subjects on one line. */
export function reportText(entries: readonly ReportEntry[], quiet: boolean): string {
  const fates: readonly ImportFate[] = quiet ? ['changed', 'left out'] : ['taken', 'changed', 'left out'];
  return fates.flatMap((fate) => linesOf(entries.filter((entry) => entry.fate === fate))).join('');
}

function linesOf(entries: readonly ReportEntry[]): readonly string[] {
  const alike = new Map<string, { entry: ReportEntry; subjects: Set<string> }>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.element, entry.what]);
    const known = alike.get(key) ?? { entry, subjects: new Set<string>() };
    known.subjects.add(entry.subject);
    alike.set(key, known);
  }
  return [...alike.values()].map(({ entry, subjects }) => lineOf(entry, [...subjects]));
}

function lineOf({ fate, element, what }: ReportEntry, subjects: readonly string[]): string {
  const more = subjects.length - NAMED;
  const named = subjects.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${amountOf(more, 'other')}` : '');
  return `${fate.padEnd(8)}  ${element} of ${named}${what === '' ? '' : `: ${what}`}\n`;
}
