import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas';

export interface Series {
  readonly legend: string;
  /** Seconds, and the value as Prometheus writes it. */
  readonly points: readonly (readonly [number, string])[];
}

export interface DrawnPanel {
  readonly type: string;
  readonly title: string;
  /** In cells of Grafana's grid, 24 to a row. */
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string;
      readonly noValue?: string;
      readonly min?: number;
      readonly max?: number;
    };
  };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly series?: readonly Series[];
}

const CELL = { width: 70, height: 30 };
const COLOURS = ['#3274d9', '#e0752d', '#299c46', '#a352cc', '#c4162a', '#8f8f00', '#0a8080', '#705da0'];
const LEGEND_LINES = 3;
const LINE = 13;

/** A PNG with the panels where Grafana has them. */
export function drawPanels(panels: readonly DrawnPanel[]): Buffer {
  const rows = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
  const canvas = createCanvas(24 * CELL.width, rows * CELL.height);
  const context = canvas.getContext('2d');
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const panel of panels) drawPanel(context, panel);
  return canvas.toBuffer('image/png');
}

function drawPanel(context: SKRSContext2D, panel: DrawnPanel): void {
  const { x, y, w, h } = panel.gridPos;
  const box = {
    x: x * CELL.width,
    y: y * CELL.height,
    width: w * CELL.width - 6,
    height: h * CELL.height - 6,
  };
  write(context, panel.title, box.x + 4, box.y + 14, '#000000', 'bold 13px sans-serif');
  if (panel.type === 'row') return;
  context.strokeStyle = '#cccccc';
  context.strokeRect(box.x, box.y, box.width, box.height);
  const { series = [] } = panel;
  const last = Number(series[0]?.points.at(-1)?.[1]);
  if (series.length === 0)
    write(context, panel.fieldConfig?.defaults.noValue ?? 'No data', box.x + 20, box.y + 50, '#c4162a');
  else if (panel.type === 'stat')
    write(context, format(last, unitOf(panel)), box.x + 10, box.y + 60, '#299c46', '28px sans-serif');
  else drawLines(context, panel, series, box);
}

function unitOf({ fieldConfig }: DrawnPanel): string {
  return fieldConfig?.defaults.unit ?? 'none';
}

type Box = Readonly<Record<'x' | 'y' | 'width' | 'height', number>>;

function drawLines(context: SKRSContext2D, panel: DrawnPanel, series: readonly Series[], box: Box): void {
  const plot = {
    left: box.x + 70,
    right: box.x + box.width - 8,
    top: box.y + 26,
    bottom: box.y + box.height - 18 - LEGEND_LINES * LINE,
  };
  const numbers = series
    .flatMap(({ points }) => points.map(([, value]) => Number(value)))
    .filter(Number.isFinite);
  const { min = Math.min(0, ...numbers), max = Math.max(...numbers) } = panel.fieldConfig?.defaults ?? {};
  const times = series.flatMap(({ points }) => points.map(([at]) => at));
  const [first, end, span] = [Math.min(...times), Math.max(...times), max - min || 1];
  const across = (at: number) => plot.left + ((at - first) / (end - first || 1)) * (plot.right - plot.left);
  const up = (value: number) => plot.bottom - ((value - min) / span) * (plot.bottom - plot.top);
  for (const share of [0, 0.5, 1]) {
    write(
      context,
      format(min + span * share, unitOf(panel)),
      box.x + 4,
      up(min + span * share) + 4,
      '#666666',
    );
  }
  for (const [number, { legend, points }] of series.entries()) {
    const colour = COLOURS[number % COLOURS.length] ?? '';
    context.strokeStyle = colour;
    context.beginPath();
    for (const [at, value] of points)
      if (Number.isFinite(Number(value))) context.lineTo(across(at), up(Number(value)));
    context.stroke();
    const place = { column: Math.floor(number / LEGEND_LINES), line: number % LEGEND_LINES };
    write(
      context,
      legend.slice(0, 34),
      box.x + 8 + place.column * 190,
      plot.bottom + 16 + place.line * LINE,
      colour,
    );
  }
}

function write(
  context: SKRSContext2D,
  text: string,
  x: number,
  y: number,
  colour: string,
  font = '11px sans-serif',
): void {
  context.fillStyle = colour;
  context.font = font;
  context.fillText(text, x, y);
}

/** As Grafana shows its units. */
function format(value: number, unit: string): string {
  const round = (number: number) => String(Number(number.toPrecision(3)));
  if (unit === 'percentunit') return `${round(value * 100)} %`;
  if (unit === 's') return value < 1 ? `${round(value * 1000)} ms` : `${round(value)} s`;
  if (unit === 'bytes') return value < 1e6 ? `${round(value / 1024)} KiB` : `${round(value / 2 ** 20)} MiB`;
  const suffix = { reqps: ' req/s', ops: ' ops/s' }[unit] ?? '';
  return `${round(value)}${suffix}`;
}
