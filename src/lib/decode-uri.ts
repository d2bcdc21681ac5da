/** Resolves `%41` and the like; `otherwise` when the encoding is broken. */
export function decodeUriPart<Otherwise>(text: string, otherwise: Otherwise): string | Otherwise {
  try {
    return decodeURIComponent(text);
  } catch {
    return otherwise;
  }
}
