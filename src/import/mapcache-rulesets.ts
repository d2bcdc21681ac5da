import { type Coverage, type ImportedAreas, readCoverage } from './mapproxy-coverage.ts';
import { numbersOf, TEXT, type TrackedTable } from './tracked-table.ts';

/** The area that is shown at a zoom, and the colour of the tiles outside; null: transparent. */
interface Visible {
  readonly coverage: Coverage;
  readonly colour: string | null;
}

export interface RuledFields {
  /** The last zoom of the grid that is shown. */
  readonly zoomStop: number;
  /** Fields of the layer, the source among them. */
  readonly fields: object;
}

/** The last zoom that all built-in grids of MapCache have. */
const LAST_COMMON_ZOOM = 17;
const KNOWN = ['@zoom_level', 'visibility', '@hidden_color', 'extent', TEXT];

/** The fields that show `source` as the ruleset does, or why that is impossible. `lastZoom`: null if unknown. */
export function ruledFields(
  source: object,
  ruleset: TrackedTable,
  grid: { readonly srs: number; readonly firstZoom: number; readonly lastZoom: number | null },
  areas: ImportedAreas,
): RuledFields | string {
  const rules = rulesOf(ruleset, grid.srs);
  if (typeof rules === 'string') return rules;
  const zoomStop = grid.lastZoom ?? Math.max(LAST_COMMON_ZOOM, ...rules.keys());
  const name = ruleset.text('@name') ?? '';
  const parts: { source: object; zooms: [number, number]; within?: string; background?: string }[] = [];
  for (let z = grid.firstZoom; z <= zoomStop; z++) {
    const { coverage, colour } = rules.get(z) ?? { colour: null };
    const shown = {
      ...(coverage && { within: areas.declare(coverage, name) }),
      ...(colour !== null && { background: colour }),
    };
    const last = parts.at(-1);
    if (last && last.within === shown.within && last.background === shown.background) last.zooms[1] = z;
    else parts.push({ source, zooms: [z, z], ...shown });
  }
  const [first, ...others] = parts;
  if (first && others.length === 0) {
    const { zooms: _, ...fields } = first;
    return { zoomStop, fields };
  }
  if (parts.some(({ background }) => background !== undefined))
    return 'its ruleset has a hidden_color at some zooms only, which has no counterpart';
  return { zoomStop, fields: { source: { type: 'layers', of: parts } } };
}

/** The rules by zoom, or why they cannot be used. */
function rulesOf(ruleset: TrackedTable, srs: number): ReadonlyMap<number, Visible> | string {
  const rules = new Map<number, Visible>();
  for (const rule of ruleset.tables('rule')) {
    const visibility = rule.table('visibility');
    const unknown = [...rule.keys(), ...visibility.keys()].find((key) => !KNOWN.includes(key));
    if (unknown !== undefined) return `a rule of its ruleset has ${unknown}, which has no counterpart`;
    // An empty element is a table with an empty text.
    visibility.text(TEXT);
    const colour = hiddenColour(visibility.text('@hidden_color') ?? '00ffffff');
    if (colour === undefined) return 'the hidden_color of its ruleset is half transparent, or no colour';
    const extents = visibility.texts('extent');
    const union = extents.map((text) => ({ bbox: numbersOf(text), srs: `EPSG:${srs}` }));
    const zooms = rule.numbers('@zoom_level');
    const coverage = readCoverage({ union }, () => null);
    if (!zooms || (!coverage && extents.length > 0))
      return 'its ruleset needs a zoom_level for each rule, and extents of four numbers';
    if (coverage) for (const zoom of zooms) rules.set(zoom, { coverage, colour });
  }
  return rules;
}

/** `RRGGBB` or `AARRGGBB`. Undefined: it cannot be shown. */
function hiddenColour(text: string): string | null | undefined {
  const [, digits] = /^(?:0x)?([0-9a-f]{6}|[0-9a-f]{8})$/i.exec(text) ?? [];
  const alpha = text.length <= 6 ? 'ff' : digits?.slice(-8, -6).toLowerCase() || '00';
  if (!digits || alpha === '00') return digits && null;
  return alpha === 'ff' ? `#${digits.slice(-6)}` : undefined;
}
