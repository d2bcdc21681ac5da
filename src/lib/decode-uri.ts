/** Decodes `%41` and the like; returns `otherwise` for an invalid encoding. */
export function decodeUriPart<Otherwise>(text: string, otherwise: Otherwise): string | Otherwise {
  try {
    return decodeURIComponent(text);
  } catch {
    return otherwise;
  }
}
