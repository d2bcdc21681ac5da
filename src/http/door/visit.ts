import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../access/caller.ts';
import type { Exchange, PathParams } from '../exchange.ts';
import type { HttpLimits } from '../limits.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { Match, Router } from './router.ts';

/** What is known of a request before its body is read. */
export interface Visit {
  readonly id: string;
  readonly path: string;
  readonly query: string;
  readonly prefix: string;
  readonly match: Match;
  /** Null until it has shown who it is; on public routes nobody asks. */
  caller: Caller | null;
  /** Null until the caller is admitted. */
  exchange: Exchange | null;
}

export function beginVisit(
  raw: IncomingMessage & { originalUrl?: string },
  router: Router,
  id: string,
): Visit {
  const { path, query } = splitTarget(raw.originalUrl ?? raw.url ?? '');
  const { prefix, match } = router.match(raw.method ?? '', path);
  return { id, path, query, prefix, match, caller: null, exchange: null };
}

/** The route, or the reason why there is none. */
export function routeOf(match: Match): { readonly route: Route; readonly params: PathParams } {
  switch (match.kind) {
    case 'found':
      return match;
    case 'method-not-allowed':
      throw new HttpProblem('method-not-allowed', `This path answers only ${match.allow}.`, [
        'Allow',
        match.allow,
      ]);
    case 'malformed':
      throw new HttpProblem('path-malformed', 'The path is not valid percent-encoded UTF-8.');
    case 'unknown':
      throw new HttpProblem('path-unknown', 'There is nothing at this path.');
  }
}

export function sharingOf(match: Match): 'anyone' | undefined {
  return 'route' in match ? match.route.sharing : undefined;
}

export function refuseExcess(raw: IncomingMessage, visit: Visit, limits: HttpLimits): void {
  if (visit.path.length + visit.query.length > limits.addressLength) {
    throw new HttpProblem(
      'address-too-long',
      `An address may have at most ${limits.addressLength} characters.`,
    );
  }
  if (raw.rawHeaders.length > 2 * limits.headerCount) {
    throw new HttpProblem('headers-too-large', `A request may have at most ${limits.headerCount} headers.`);
  }
}

/** RFC 9112, 3.2.2: a server must also accept the absolute form, `GET http://host/path`. */
const AUTHORITY = /^https?:\/\/[^/?#]*/i;

function splitTarget(target: string): { path: string; query: string } {
  const local = target.startsWith('/') ? target : target.replace(AUTHORITY, '');
  const mark = local.indexOf('?');
  if (mark < 0) return { path: local, query: '' };
  return { path: local.slice(0, mark), query: local.slice(mark + 1) };
}
