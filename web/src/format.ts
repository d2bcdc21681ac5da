const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const NUMBER = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const DATE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

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

/** Whole up to a million, shortened above: `3.4M`. */
export function countText(count: number): string {
  return Math.abs(count) < 1_000_000 ? NUMBER.format(Math.round(count)) : SHORT.format(count);
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

export function timeText(iso: string): string {
  return DATE.format(new Date(iso));
}

/** As precise as a grid needs, e.g. `-180` or `1234.56`. */
export function coordinateText(value: number): string {
  return String(Number(value.toFixed(6)));
}
