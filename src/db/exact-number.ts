/** A whole number from the database: a `bigint` only where a double would not hold it exactly. */
export function exactNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
