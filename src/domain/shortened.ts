const SHOWN = 100;

/** What of a stranger's text may be repeated in a message. */
export function shortened(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
