import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { bytesText, fill, labelled, momentText, percentText, timeText } from '../format.ts';
import { TEXTS } from '../texts.ts';

const WIDTH = 600;
const HEIGHT = 100;
const HOUR_MS = 3_600_000;
/** Colours of the lines, in order. */
const COLOURS = ['var(--accent)', 'var(--gold)', 'var(--bad)'];

export interface PlotLine {
  readonly name: string;
  readonly values: readonly number[];
}

/** Lines over the same times, in milliseconds since 1970, and on the same scale. `text` formats a value with its unit. */
export function Plot(props: {
  lines: readonly PlotLine[];
  times: readonly number[];
  /** Quantity and unit. */
  label: string;
  text: (value: number) => string;
}) {
  const { lines, times, label, text } = props;
  const [place, setPlace] = useState<number | null>(null);
  const last = times.length - 1;
  const at = place === null ? null : Math.max(0, Math.min(last, place));
  const highest = Math.max(...lines.flatMap(({ values }) => values), 0);
  const x = (index: number) => (index / Math.max(1, last)) * WIDTH;
  const shownTimes = [...new Set([0, Math.round(last / 2), last])];
  const y = (value: number) => HEIGHT - 2 - (value / (highest || 1)) * (HEIGHT - 6);
  // A single value is drawn as a level line.
  const points = ({ values }: PlotLine) =>
    (values.length === 1 ? [...values, ...values] : values)
      .map((value, index) => `${(last === 0 ? index * WIDTH : x(index)).toFixed(1)},${y(value).toFixed(1)}`)
      .join(' ');
  const point = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setPlace(Math.round(((clientX - left) / width) * last));
  };
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (step !== 0) setPlace((at ?? last) + step);
  };
  const precisely = (times[last] ?? 0) - (times[0] ?? 0) < HOUR_MS;
  const time = (index: number) => {
    const moment = new Date(times[index] ?? 0).toISOString();
    return precisely ? momentText(moment) : timeText(moment);
  };
  return (
    <figure className="plot-box">
      <figcaption className="small quiet legend">
        <span>{label}</span>
        {lines.length > 1 &&
          lines.map(({ name }, line) => (
            <span key={name}>
              <span className="swatch" style={{ background: COLOURS[line] }} />
              {name}
            </span>
          ))}
      </figcaption>
      <div className="plot-scale small quiet" aria-hidden="true">
        {[...new Set([highest, highest / 2, 0].map(text))].map((value) => (
          <span key={value}>{value}</span>
        ))}
      </div>
      <div
        className="plot"
        role="img"
        aria-label={labelled(label, fill(TEXTS.atMost, { value: text(highest) }))}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read the values
        tabIndex={0}
        onPointerMove={point}
        onPointerLeave={() => setPlace(null)}
        onKeyDown={move}
        onBlur={() => setPlace(null)}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {[0, highest / 2, highest].map((value, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: with nothing to show all three are 0
            <line key={line} className="axis" x1={0} x2={WIDTH} y1={y(value)} y2={y(value)} />
          ))}
          {lines[0] && <polygon className="area" points={`0,${y(0)} ${points(lines[0])} ${WIDTH},${y(0)}`} />}
          {lines.map((line, index) => (
            <polyline key={line.name} className="line" stroke={COLOURS[index]} points={points(line)} />
          ))}
          {at !== null && <line className="cursor" x1={x(at)} x2={x(at)} y1={0} y2={HEIGHT} />}
        </svg>
        {at !== null && (
          <div
            className={`tooltip small ${at > last / 2 ? 'left' : ''}`}
            role="tooltip"
            style={{ left: `${(at / Math.max(1, last)) * 100}%` }}
          >
            <strong>{time(at)}</strong>
            {lines.map(({ name, values }) => (
              <span key={name}>{labelled(name, text(values[at] ?? 0))}</span>
            ))}
          </div>
        )}
      </div>
      <div className="plot-times small quiet" aria-hidden="true">
        {shownTimes.map((index) => (
          <span key={index}>{time(index)}</span>
        ))}
      </div>
    </figure>
  );
}

export function Gauge({ bytes, limit }: { bytes: number; limit: number | null }) {
  const share = limit === null || limit === 0 ? 0 : Math.min(1, bytes / limit);
  const length = Math.PI * 80;
  const under =
    limit === null ? TEXTS.overview.noQuota : fill(TEXTS.overview.ofQuota, { limit: bytesText(limit) });
  const title = limit === null ? bytesText(bytes) : percentText(bytes / Math.max(1, limit));
  return (
    <svg className="gauge" viewBox="0 0 200 122" role="img" aria-label={`${bytesText(bytes)}, ${under}`}>
      <path className="track" d="M20 100 A80 80 0 0 1 180 100" />
      {share > 0 && (
        <path
          className="fill"
          d="M20 100 A80 80 0 0 1 180 100"
          strokeDasharray={`${length * share} ${length}`}
        />
      )}
      <text x={100} y={86}>
        {title}
      </text>
      <text className="under" x={100} y={110}>
        {limit === null ? under : `${bytesText(bytes)} ${under}`}
      </text>
    </svg>
  );
}
