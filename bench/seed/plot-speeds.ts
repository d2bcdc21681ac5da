export interface SpeedGroup {
  readonly title: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
}

const COLOURS = ['#0b6e4f', '#8a8f98', '#c3c7cd'];
const TITLE = '<title>Tiles seeded in a second by Tilewarden, MapCache and MapProxy</title>';
const WIDTH = 760;
const LEFT = 110;
const BAR = 16;
const GROUP_GAP = 34;

/** Bars of tiles a second, a group for each comparison on its own scale. */
export function plotSpeeds(groups: readonly SpeedGroup[]): string {
  let y = 10;
  const parts = groups.flatMap(({ title, bars }) => {
    const max = Math.max(...bars.map(({ value }) => value));
    const heading = text(LEFT, y + 12, title, 'font-weight="600"');
    y += 20;
    const lines = bars.map(({ label, value }, i) => {
      const length = Math.max(1, (value / max) * (WIDTH - LEFT - 110));
      const bar = `<rect x="${LEFT}" y="${y}" width="${length.toFixed(1)}" height="${BAR - 3}" fill="${COLOURS[i]}"/>`;
      const name = text(LEFT - 8, y + 11, label, 'text-anchor="end"');
      const figure = text(LEFT + length + 6, y + 11, `${Math.round(value)} tiles/s`, '');
      y += BAR;
      return name + bar + figure;
    });
    y += GROUP_GAP - BAR;
    return [heading, ...lines];
  });
  const style = 'font-family="sans-serif" font-size="12" fill="#222"';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" ${style}>${TITLE}<rect width="100%" height="100%" fill="#fff"/>\n${parts.join('\n')}\n</svg>\n`;
}

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes}>${content}</text>`;
}
