import { isoTime } from '../../lib/clock.ts';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';

export interface About {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** `/api/v1/about` */
export function aboutRoutes({ version, startedAt }: About): readonly Route[] {
  const handler = () => jsonAnswer({ version, node: process.versions.node, startedAt: isoTime(startedAt) });
  return [{ method: 'GET', path: '/api/v1/about', role: 'viewer', handler }];
}
