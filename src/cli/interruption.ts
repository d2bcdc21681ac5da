/** Turns Ctrl-C into a signal for as long as it is open; a second one ends the process on the spot. */
export function openInterruption(): { readonly signal: AbortSignal; close(): void } {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  };
  for (const name of SIGNALS) process.on(name, interrupt);
  return {
    signal: controller.signal,
    close: () => {
      for (const name of SIGNALS) process.off(name, interrupt);
    },
  };
}

/** What a shell makes of a program ended by Ctrl-C. */
export const INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
