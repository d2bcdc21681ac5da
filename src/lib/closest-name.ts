/** The name that was probably meant; null: none is close enough. */
export function closestName(given: string, names: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(given.toLowerCase(), name.toLowerCase(), bestDistance);
    if (distance >= bestDistance) continue;
    best = name;
    bestDistance = distance;
  }
  return best;
}

/** Letters inserted, left out, replaced or swapped with a neighbour; `limit` when they are that many or more. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let rowBeforeLast: readonly number[] = [];
  let lastRow: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = at(lastRow, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const swapped = isSwap(from, to, row, column) ? at(rowBeforeLast, column - 2) + 1 : replaced;
      current.push(Math.min(replaced, swapped, at(lastRow, column) + 1, at(current, column - 1) + 1));
    }
    rowBeforeLast = lastRow;
    lastRow = current;
  }
  return Math.min(at(lastRow, to.length), limit);
}

function isSwap(from: string, to: string, row: number, column: number): boolean {
  return row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/** The name that was probably meant, or else the names there are: `did you mean roads?`, `there are roads, rivers`. */
export function hintFor(given: string, names: readonly string[]): string {
  const meant = closestName(given, names);
  return meant ? `did you mean ${meant}?` : `there are ${someOf(names)}`;
}

const MAX_NAMED = 20;

/** A readable number of names for a message: `a, b, c and 7 more`; `none` if there are none. */
export function someOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  const listed = names.slice(0, MAX_NAMED).join(', ') || 'none';
  return more > 0 ? `${listed} and ${more} more` : listed;
}
