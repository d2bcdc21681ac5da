import type { MetricSheet } from './metric-sheet.ts';

export interface NodeState {
  /** Whether this node runs the quota, schedules and clean-up for all. */
  leads(): boolean;
  /** Whether it cannot reach a database that it shares with others. */
  isAway(): boolean;
}

export function addNodeMetrics(sheet: MetricSheet, node: NodeState): void {
  const leader = sheet.gauge('tilewarden_node_leader', '1: runs quota, schedules and clean-up');
  const reached = sheet.gauge('tilewarden_node_database_up', '0: the shared database does not answer');
  sheet.onLook(() => {
    leader.set(node.leads() ? 1 : 0);
    reached.set(node.isAway() ? 0 : 1);
  });
}
