import type { Call } from '../api/api-route.ts';
import { html, pageResponse } from '../pages/html.ts';

const RESOURCES = ['layers', 'gridsets', 'blobstores', 'global', 'statistics', 'seed.json', 'masstruncate'];

export function showIndex({ context: { baseUrl } }: Call) {
  return pageResponse(
    'Resources',
    html`<p>Resources available from here:</p>
<ul>
${RESOURCES.map((name) => html`<li><a href="${baseUrl}/rest/${name}">${name}</a></li>`)}
</ul>`,
  );
}
