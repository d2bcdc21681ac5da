const INTERVAL_MS = 500;

/** Ends this process when the npm or script that started it has ended, even if killed: no reader of its result is left. */
export function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, INTERVAL_MS);
  timer.unref();
}
