import { bytesText, percentText } from '../format.ts';
import { TEXTS } from '../texts.ts';

const WIDTH = 600;
const HEIGHT = 90;

export interface PlotLine {
  readonly name: string;
  readonly values: readonly number[];
}

/** Lines over the same time, each as high as the highest value of all allows, which `peak` puts into words. */
export function Plot(props: {
  readonly lines: readonly PlotLine[];
  readonly label: string;
  readonly from: string;
  readonly peak: (highest: number) => string;
}) {
  const { lines, label } = props;
  const highest = Math.max(...lines.flatMap(({ values }) => values), 0);
  const points = lines.map(({ values }) => pointsOf(values, Math.max(highest, Number.MIN_VALUE)));
  return (
    <figure className="plot-box">
      <svg
        className="plot"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${props.peak(highest)}`}
      >
        <line className="axis" x1={0} x2={WIDTH} y1={HEIGHT - 4} y2={HEIGHT - 4} />
        <polygon className="area" points={`0,${HEIGHT - 4} ${points[0] ?? ''} ${WIDTH},${HEIGHT - 4}`} />
        {lines.map(({ name }, place) => (
          <polyline key={name} className={place === 0 ? 'line' : 'line second'} points={points[place]} />
        ))}
      </svg>
      <figcaption className="small quiet">
        <span>{props.from}</span>
        <span className="legend">
          {lines.length > 1 &&
            lines.map(({ name }, place) => (
              <span key={name}>
                <span className={`swatch line-${place}`} />
                {name}
              </span>
            ))}
          <span>{props.peak(highest)}</span>
        </span>
        <span>{TEXTS.now}</span>
      </figcaption>
    </figure>
  );
}

function pointsOf(values: readonly number[], highest: number): string {
  return values
    .map((value, place) => {
      const x = (place / Math.max(1, values.length - 1)) * WIDTH;
      const y = HEIGHT - 4 - (value / highest) * (HEIGHT - 10);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}

/** A half circle that fills up. */
export function Gauge({ bytes, limit }: { readonly bytes: number; readonly limit: number | null }) {
  const share = limit === null || limit === 0 ? 0 : Math.min(1, bytes / limit);
  const length = Math.PI * 80;
  const kind = share > 0.95 ? 'bad' : share > 0.8 ? 'warn' : '';
  const under = limit === null ? TEXTS.overview.noQuota : TEXTS.overview.ofQuota(bytesText(limit));
  const title = limit === null ? bytesText(bytes) : percentText(bytes / Math.max(1, limit));
  return (
    <svg className="gauge" viewBox="0 0 200 122" role="img" aria-label={`${bytesText(bytes)}, ${under}`}>
      <path className="track" d="M20 100 A80 80 0 0 1 180 100" />
      {share > 0 && (
        <path
          className={`fill ${kind}`}
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
