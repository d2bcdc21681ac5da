import { type Dispatcher, ProxyAgent } from 'undici';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { type OutboundProxies, proxyFor } from './outbound-proxy.ts';

/**
 * `fetch` through the proxies, for sign-in at an issuer; null: no proxy. Follows no redirect. Not undici's own
 * `fetch`, which takes longer to load than the rest of a start.
 */
export function openProxiedFetch(proxies: OutboundProxies) {
  if (proxies.http === null && proxies.https === null) return null;
  const agents = new Map<string, ProxyAgent>();
  const viaProxy = async (...[input, init = {}]: Parameters<typeof fetch>): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const proxy = proxyFor(proxies, url);
    if (proxy === null) return fetch(input, init);
    const agent = getOrCreate(agents, proxy, () => new ProxyAgent({ uri: proxy, proxyTunnel: false }));
    const { method = 'GET', body, signal } = init;
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: body ? String(body) : null,
      ...(signal && { signal }),
    });
    const bytes = await answer.body.arrayBuffer();
    const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
    const status = answer.statusCode;
    return new Response(bytes.byteLength > 0 ? bytes : null, {
      status,
      headers: Object.fromEntries(headers),
    });
  };
  return {
    fetch: viaProxy,
    async close(): Promise<void> {
      await Promise.all(Array.from(agents.values(), (agent) => agent.destroy()));
    },
  };
}
