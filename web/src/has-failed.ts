interface Ending {
  readonly state: string;
  readonly reason: string | null;
  readonly endedAt: string | null;
  readonly counters: { readonly failed: number };
}

/** It ended, and not well: tiles failed, or its host stayed away. What somebody stopped has not failed by that. */
export function hasFailed({ state, reason, endedAt, counters }: Ending): boolean {
  if (endedAt === null) return false;
  return counters.failed > 0 || (state === 'aborted' && !/^stopped by /.test(reason ?? ''));
}
