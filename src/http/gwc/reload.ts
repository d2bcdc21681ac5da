import type { ApiDeps, Call } from '../api/api-route.ts';
import { FORM, requireMediaType } from '../auth/request-body.ts';
import { type Html, html, pageResponse } from '../pages/html.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import type { Reloaded } from '../route-deps.ts';

const MAX_NAMED = 100;

export async function reloadConfiguration({ context, note }: Call, { rest }: ApiDeps) {
  // A widespread client library says that the form is JSON.
  requireMediaType(context.headers, [FORM, 'text/xml', 'application/json']);
  const form = new URLSearchParams(`${context.query}&${context.body.toString('utf8').trim()}`);
  if (!form.has('reload_configuration')) {
    throw new HttpProblem(
      'header-invalid',
      'Unknown or malformed request: the form must have reload_configuration=1.',
    );
  }
  const done = await rest.reload();
  if ('problems' in done) return { ...problemPage(done.problems), status: statusOf('request-invalid') };
  const { changed, upstreams } = done;
  note({ target: 'configuration', after: { changed: changed.slice(0, MAX_NAMED), upstreams } });
  return donePage(done);
}

function problemPage(problems: readonly string[]) {
  const body = html`<p>There was a problem reloading the configuration; nothing has changed:</p>
${list(problems)}`;
  return pageResponse('The configuration was not reloaded', body);
}

/** The first sentence is GeoWebCache's: its clients look for it. */
function donePage({ layers, changed, upstreams, restart }: Exclude<Reloaded, { problems: unknown }>) {
  const body = html`<p>TileLayerConfiguration reloaded. Read ${layers} layers from configuration resources.</p>
${changed.length === 0 ? html`<p>No layer changed.</p>` : html`<p>Changed: ${changed.slice(0, MAX_NAMED).join(', ')}. Tiles of changed sources are renewed before they are shown.</p>`}
${upstreams.length === 0 ? html`` : html`<p>Upstreams changed: ${upstreams.slice(0, MAX_NAMED).join(', ')}.</p>`}
${restart.length === 0 ? html`` : html`<p>Changes to ${restart.join(', ')} take effect after a restart.</p>`}`;
  return pageResponse('Configuration reloaded', body);
}

function list(lines: readonly string[]): Html {
  return html`<ul>
${lines.map((line) => html`<li>${line}</li>`)}
</ul>`;
}
