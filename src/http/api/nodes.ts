import { isoTime } from '../../lib/clock.ts';
import type { NodeEntry, NodeRegistry } from '../../nodes/node-registry.ts';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';

/** `/api/v1/nodes` */
export function nodeRoutes(nodes: Pick<NodeRegistry, 'list'>): readonly Route[] {
  const handler = async () => jsonAnswer({ nodes: (await nodes.list()).map(documentOf) });
  return [{ method: 'GET', path: '/api/v1/nodes', role: 'viewer', handler }];
}

function documentOf({ startedAt, seenAt, ...node }: NodeEntry): object {
  return {
    ...node,
    startedAt: isoTime(startedAt),
    seenAt: isoTime(seenAt),
  };
}
