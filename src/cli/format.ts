const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** 5,461 */
export function countText(number: number): string {
  return Math.round(number).toLocaleString('en-US');
}

/** 12.3 MiB */
export function sizeText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power]}`;
}

/** The two largest units are enough: 2 h 5 min, 14 s. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

/** 1 tile, 2 tiles */
export function plural(number: number, thing: string): string {
  return `${countText(number)} ${thing}${number === 1 ? '' : 's'}`;
}

/** `█████░░░░░`: so much of a width, in columns. */
export function bar(full: number, width: number): string {
  return '█'.repeat(Math.min(full, width)).padEnd(width, '░');
}

/** Rows as lines, each column as wide as its widest cell. The first row has the headings. */
export function columns(rows: readonly (readonly string[])[], rightAligned: readonly string[] = []): string {
  const [headings = []] = rows;
  const widths = headings.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const cellOf = (cell: string, at: number) =>
    rightAligned.includes(headings[at] ?? '') ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return rows.map((row) => `${row.map(cellOf).join('  ').trimEnd()}\n`).join('');
}

/** A text of the server, whose times are ISO 8601 in UTC: 2026-01-31 13:00:00 */
export function withLocalTimes(text: string, timeZone?: string): string {
  // Swedish dates are written as ISO 8601 has them.
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) =>
    new Date(time).toLocaleString('sv-SE', { timeZone }),
  );
}
