import { type Html, html, pageAnswer } from '../answer/html.ts';
import { FORM, requireMediaType } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import type { Route } from '../route.ts';

export type Reloaded =
  | {
      readonly layers: number;
      /** Names of layers and grid sets that are new, other than before, or gone. */
      readonly changed: readonly string[];
      /** Hosts whose limits or permissions are new, other than before, or gone. */
      readonly upstreams: readonly string[];
      /** Settings that differ and need a restart. */
      readonly restart: readonly string[];
    }
  /** What is wrong with it; nothing has changed. */
  | { readonly problems: readonly string[] };

const MOST_NAMED = 100;

/** `POST /rest/reload` with `reload_configuration=1`: takes up what has changed in the configuration file. */
export function reloadRoutes(reload: () => Promise<Reloaded>): readonly Route[] {
  return [{ method: 'POST', path: '/rest/reload', role: 'admin', handler }];

  async function handler(exchange: Exchange) {
    // A widespread client library says that the form is JSON.
    requireMediaType(exchange.headers, [FORM, 'text/xml', 'application/json']);
    const form = new URLSearchParams(`${exchange.query}&${exchange.body.toString('utf8').trim()}`);
    if (!form.has('reload_configuration')) {
      throw new HttpProblem(
        'header-invalid',
        'Unknown or malformed request: the form must have reload_configuration=1.',
      );
    }
    const done = await reload();
    if ('problems' in done) return { ...problemPage(done.problems), status: statusOf('request-invalid') };
    const { changed, upstreams } = done;
    exchange.change = {
      target: 'configuration',
      after: { changed: changed.slice(0, MOST_NAMED), upstreams },
    };
    return donePage(done);
  }
}

function problemPage(problems: readonly string[]) {
  const body = html`<p>There was a problem reloading the configuration; nothing has changed:</p>
${list(problems)}`;
  return pageAnswer('The configuration was not reloaded', body);
}

/** The first sentence is GeoWebCache's: its clients look for it. */
function donePage({ layers, changed, upstreams, restart }: Exclude<Reloaded, { problems: unknown }>) {
  const body = html`<p>TileLayerConfiguration reloaded. Read ${layers} layers from configuration resources.</p>
${changed.length === 0 ? html`<p>No layer changed.</p>` : html`<p>Changed: ${changed.slice(0, MOST_NAMED).join(', ')}. Tiles of changed sources are renewed before they are shown.</p>`}
${upstreams.length === 0 ? html`` : html`<p>Upstreams changed: ${upstreams.slice(0, MOST_NAMED).join(', ')}.</p>`}
${restart.length === 0 ? html`` : html`<p>Changes to ${restart.join(', ')} take effect after a restart.</p>`}`;
  return pageAnswer('Configuration reloaded', body);
}

function list(lines: readonly string[]): Html {
  return html`<ul>
${lines.map((line) => html`<li>${line}</li>`)}
</ul>`;
}
