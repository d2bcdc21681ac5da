import { html, pageAnswer } from '../answer/html.ts';
import type { Route } from '../route.ts';

const RESOURCES = ['layers', 'gridsets', 'blobstores', 'global', 'statistics', 'seed.json', 'masstruncate'];

/** `/rest`: links to what GeoWebCache's interface has, as GeoWebCache shows it. */
export function restIndexRoutes(): readonly Route[] {
  return ['/rest', '/rest/'].map(
    (path): Route => ({
      method: 'GET',
      path,
      role: 'viewer',
      handler: ({ baseUrl }) =>
        pageAnswer(
          'Resources',
          html`<p>Resources available from here:</p>
<ul>
${RESOURCES.map((name) => html`<li><a href="${baseUrl}/rest/${name}">${name}</a></li>`)}
</ul>`,
        ),
    }),
  );
}
