import { type GlobalDocument, readGlobal, writeGlobal } from '../../geowebcache/global-document.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import { textAnswer } from '../answer.ts';
import { callerName, type Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { warningHeader } from './layers.ts';
import { documentAnswer, readRoot, resourceRoutes } from './representation.ts';

/** `/rest/global`: what the service says of itself in capabilities. */
export function globalRoutes({ service, about, rest: { configFile } }: RouteDeps): readonly Route[] {
  const fixed = () => ({ version: about.version, identifier: 'tilewarden', location: configFile });
  return resourceRoutes({
    path: '/rest/global',
    role: () => 'admin',
    what: 'what the service says of itself',
    handlers: { GET: show, PUT: put },
  });

  function show(_: Exchange, format: DocumentFormat) {
    const document: GlobalDocument = { ...service.current, ...fixed() };
    return documentAnswer(writeGlobal(document), format);
  }

  async function put(exchange: Exchange, format: DocumentFormat) {
    const { warnings, remembered, ...change } = readGlobal(readRoot(exchange, format), fixed());
    const before = service.current;
    const all = { ...before.remembered, ...remembered };
    await service.change({ ...change, remembered: all }, callerName(exchange));
    exchange.change = { target: 'global', before, after: service.current };
    return textAnswer(200, '', warningHeader(warnings));
  }
}
