const INTERVAL_MS = 500;

/** Ends this process when npm or the script that started it is gone, even killed: there is no reader of its result. */
export function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, INTERVAL_MS);
  timer.unref();
}
