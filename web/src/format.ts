const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const SHORT: readonly (readonly [size: number, letter: string])[] = [
  [1e12, 'tn'],
  [1e9, 'bn'],
  [1e6, 'M'],
];
/** Made when it is first needed: that takes a slow processor a twentieth of a second. */
let date: Intl.DateTimeFormat | null = null;

/** E.g. `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const sign = bytes < 0 ? '−' : '';
  let size = Math.abs(bytes);
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return `${sign}${size.toFixed(digits)} ${UNITS[unit]}`;
}

/** Whole up to a million, e.g. `12,345`; shortened above: `3.4M`. */
export function countText(count: number): string {
  const size = Math.abs(count);
  const [unit, letter] = SHORT.find(([least]) => size >= least) ?? [1, ''];
  if (letter === '') return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${Number((count / unit).toFixed(1))}${letter}`;
}

export function percentText(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '<0.1 %';
  if (percent > 99.9 && percent < 100) return '>99.9 %';
  return `${percent.toFixed(percent < 10 && percent > 0 ? 1 : 0)} %`;
}

/** E.g. `2 h 5 min`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${countText(Math.floor(whole / 86_400))} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

/** E.g. `15 Nov 2026, 08:24`, by this browser's clock. */
export function timeText(iso: string): string {
  date ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  return date.format(new Date(iso));
}

/** As precise as a grid needs, e.g. `-180` or `1234.56`. */
export function coordinateText(value: number): string {
  return String(Number(value.toFixed(6)));
}
