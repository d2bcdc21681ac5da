import type { GridSet } from '../domain/grid-set.ts';
import { sameSrs } from '../domain/srs.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';

export interface ChosenGridSets {
  readonly gridSets: readonly GridSet[];
  /** CRS that are left out, and why; empty: none are. */
  readonly leftOut: string;
  /** As the server calls web mercator, if not by its usual number. */
  readonly mercatorName: string | null;
}

const USUAL = ['EPSG:900913', 'EPSG:4326'];
const MERCATOR = 3857;
/** Servers that name more offer whatever their library knows, not what the layer is for. */
const MEANT = 20;

/** For lists of CRS: thousands of layers share one, which has thousands of names. */
export function createGridSetChooser(known: readonly GridSet[]): (crs: readonly string[]) => ChosenGridSets {
  const ofLists = new WeakMap<readonly string[], ChosenGridSets>();
  return (crs) => {
    const before = ofLists.get(crs);
    if (before) return before;
    const chosen = choose(crs, known);
    ofLists.set(crs, chosen);
    return chosen;
  };
}

function choose(crs: readonly string[], known: readonly GridSet[]): ChosenGridSets {
  const considered = crs.length > MEANT ? known.filter(({ name }) => USUAL.includes(name)) : known;
  const found = new Set<GridSet>();
  const strange: string[] = [];
  for (const name of crs) {
    const gridSet = gridSetFor(name, considered);
    if (gridSet) found.add(gridSet);
    else strange.push(name);
  }
  const rank = ({ name }: GridSet) => [...USUAL, name].indexOf(name);
  return {
    gridSets: [...found].sort((a, b) => rank(a) - rank(b)),
    leftOut: strange.length === 0 ? '' : `${few(strange)}: declare a grid set and name it in gridSets`,
    mercatorName: crs.includes(`EPSG:${MERCATOR}`) ? null : (crs.find((name) => isMercator(name)) ?? null),
  };
}

/** The plain one for a CRS: neither for dense screens nor a second ladder for the same. */
function gridSetFor(crs: string, known: readonly GridSet[]): GridSet | null {
  const srs = srsOfCrs(crs);
  if (srs === null) return null;
  const alike = known.filter((gridSet) => sameSrs(gridSet.srs, srs));
  const usual = alike.find(({ name }) => USUAL.includes(name));
  return usual ?? alike.find(({ tileWidth }) => tileWidth === 256) ?? null;
}

export function isMercator(crs: string): boolean {
  return sameSrs(srsOfCrs(crs) ?? 0, MERCATOR);
}

function few(names: readonly string[]): string {
  const more = names.length - 5;
  return names.slice(0, 5).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
