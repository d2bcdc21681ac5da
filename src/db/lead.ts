/**
 * Does what one node does for all: `work` runs while this node is the one, with a signal that aborts at once when it is
 * not any more, and again when it is anew. A node that was stopped notices late, so what the work does twice must do no
 * harm.
 */
export type Lead = (work: (signal: AbortSignal) => Promise<void>) => { close(): Promise<void> };

/** For the only node there is. */
export const leadAlone: Lead = (work) => {
  const ending = new AbortController();
  const running = work(ending.signal);
  return {
    async close() {
      ending.abort();
      await running;
    },
  };
};
