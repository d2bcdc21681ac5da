import { TEXTS } from '../texts.ts';
import { Problem, problemFrom, reach } from './client.ts';

export const RELOAD_FORM = new URLSearchParams({ reload_configuration: '1' });
/** The server's first sentence, for GeoWebCache's clients. */
const THEIRS = /^TileLayerConfiguration reloaded\. Read \d+ layers from configuration resources\.\s*/;

/** GeoWebCache's address responds with a page; returns its text. */
export async function reloadConfiguration(): Promise<string> {
  try {
    const text = textIn(await (await reach('rest/reload', { method: 'POST', body: RELOAD_FORM })).text());
    return `${TEXTS.layers.reloaded} ${text.replace(THEIRS, '')}`;
  } catch (error) {
    const { message, status, requestId } = problemFrom(error);
    throw new Problem(textIn(message), status, requestId);
  }
}

function textIn(page: string): string {
  const { body } = new DOMParser().parseFromString(page, 'text/html');
  const lines = [...body.querySelectorAll('p, li')].map((line) => line.textContent?.trim());
  return lines.length > 0 ? lines.join(' ') : (body.textContent?.trim() ?? '');
}
