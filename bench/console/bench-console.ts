// The cost of the console for a browser and the server with 5,000 layers. Needs Debian's chromium-headless-shell.
// npm run bench -- console [--layers 5000] [--tasks 1000] [--consoles 50] [--seconds 60]
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { readOptions } from '../harness/options.ts';
import { processorSeconds, requireProgram } from '../harness/processes.ts';
import { judge, quantile, say, temporaryFolder } from '../harness/report.ts';
import { readJson, request } from '../harness/request.ts';
import { startServer } from '../harness/server.ts';

const options = readOptions({ layers: 5000, tasks: 1000, consoles: 50, seconds: 60 });
/** For all sign-ins and the first requests of each page. */
const SIGN_IN_MS = 20_000;
const SLOWER = 4;
const LOADS = 7;
const ACCOUNT = { name: 'admin', password: 'a password for benches only' };

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

/**
 * Resolves in the page when all elements are drawn and a timer has fired: milliseconds since the start of the navigation.
 * No other code of the bench runs in the page until then: it would be slowed down and counted too.
 */
function watchFor(selectors: readonly string[]): string {
  return `window.interactive = new Promise((resolve) => {
    const there = () => ${JSON.stringify(selectors)}.every((selector) => document.querySelector(selector));
    const look = new MutationObserver(() => {
      if (!there()) return;
      look.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    });
    look.observe(document, { childList: true, subtree: true });
  })`;
}

/** Resolves to the longest time between two frames. */
const SCROLL = `new Promise((resolve) => {
  const list = document.querySelector('.virtual');
  let last = performance.now();
  let longest = 0;
  let frames = 0;
  const step = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    list.scrollTop += 400;
    frames += 1;
    if (frames < 240) requestAnimationFrame(step);
    else resolve(longest);
  };
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(step); });
})`;

const executablePath = requireProgram('chromium-headless-shell');
const layers = Array.from({ length: options.layers }, (_, number) => ({
  name: `layer-${number}`,
  title: `Layer number ${number}`,
  source: { type: 'world' },
  formats: ['image/png'],
  gridSets: ['EPSG:900913', 'EPSG:4326'],
}));
process.env.TILEWARDEN_ADMIN_PASSWORD = ACCOUNT.password;
const server = await startServer({
  data: join(temporaryFolder(), 'data'),
  config: JSON.stringify({ layers, log: { level: 'warn' } }),
  flags: ['--port', '0'],
});
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  await createTasks();
  await measureFirstLoad();
  await measureScrolling('layers', 'List of layers');
  await measureScrolling('tasks', 'List of tasks');
  await measureIdle();
} finally {
  await browser.close();
  await server.stop();
}

/** Small ones, which end soon. */
async function createTasks(): Promise<void> {
  const headers = { cookie: await signIn() };
  const url = `${server.url}/api/v1/tasks`;
  for (let number = 0; number < options.tasks; number++)
    await request(url, { layer: `layer-${number}`, type: 'truncate', zoomStop: 1 }, { headers });
  const active = async () => {
    const query = 'state=pending,running&limit=1';
    return await readJson<{ readonly tasks: readonly unknown[] }>(`${url}?${query}`, undefined, { headers });
  };
  while ((await active()).tasks.length > 0) await delay(500);
}

async function openPage(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${server.url}/#/overview`);
  await page.getByLabel('Name').fill(ACCOUNT.name);
  await page.getByLabel('Password').fill(ACCOUNT.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  return page;
}

/** Bytes over the network, and the time until typing and clicking are possible, on a processor four times slower. */
async function measureFirstLoad(): Promise<void> {
  const page = await openPage();
  const storageState = await page.context().storageState();
  await page.context().close();
  const overview = await loadTimes(storageState, ['.nav a', '.page h1']);
  const login = await loadTimes(undefined, ['.login input[type=password]']);
  judge('first load, compressed', overview.bytes / 1024, 350, 'KB');
  judge(`overview, ${SLOWER} times slower`, overview.seconds, 1.5, 's');
  judge(`sign-in form, ${SLOWER} times slower`, login.seconds, 1.5, 's');
}

/** The median of several loads, each in an empty browser profile. */
async function loadTimes(
  storageState: StorageState | undefined,
  selectors: readonly string[],
): Promise<{ readonly bytes: number; readonly seconds: number }> {
  const times: number[] = [];
  let bytes = 0;
  for (let load = 0; load < LOADS; load++) {
    const context = await browser.newContext(storageState && { storageState });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
    bytes = 0;
    page.on('response', (response) => {
      if (/\/(assets\/|$)/.test(new URL(response.url()).pathname)) {
        bytes += Number(response.headers()['content-length'] ?? 0);
      }
    });
    await page.addInitScript(watchFor(selectors));
    await page.goto(`${server.url}/#/overview`, { waitUntil: 'commit' });
    times.push(((await page.evaluate('window.interactive')) as number) / 1000);
    await context.close();
  }
  say(`loads: ${times.map((time) => time.toFixed(2)).join(' ')} s`);
  return { bytes, seconds: quantile(times) };
}

/** The longest time between two frames while a list is scrolled to its end. */
async function measureScrolling(path: string, label: string): Promise<void> {
  const page = await openPage();
  await page.goto(`${server.url}/#/${path}`);
  await page.getByLabel(label).waitFor();
  await delay(1500);
  const longest = (await page.evaluate(SCROLL)) as number;
  await page.context().close();
  judge(`${label}: longest frame while scrolling`, longest, 50, 'ms');
}

/** Consoles on the overview: one stream each, and the page's own requests every 30 or 60 seconds. */
async function measureIdle(): Promise<void> {
  const over = new AbortController();
  const consoles = Array.from({ length: options.consoles }, () => holdConsole(over.signal));
  await delay(SIGN_IN_MS);
  const before = processorSeconds([server.pid]);
  await delay(options.seconds * 1000);
  const share = (processorSeconds([server.pid]) - before) / options.seconds;
  over.abort();
  await Promise.all(consoles);
  judge(`${options.consoles} open consoles, idle`, share * 100, 3, '% of a core');
}

async function holdConsole(signal: AbortSignal): Promise<void> {
  const headers = { cookie: await signIn() };
  const read = async (path: string) =>
    (await fetch(`${server.url}/api/v1/${path}`, { headers, signal })).text();
  const polls = [
    ['usage', 30_000],
    ['series', 60_000],
    ['upstreams', 60_000],
  ] as const;
  const polling = polls.map(async ([path, every]) => {
    await delay(Math.random() * every, null, { signal });
    for (; !signal.aborted; await delay(every, null, { signal })) await read(path);
  });
  await Promise.allSettled([read('events'), ...polling]);
}

/** Returns the cookie of a session, as in the console: not a password with every request. */
async function signIn(): Promise<string> {
  const response = await request(`${server.url}/api/v1/session`, ACCOUNT);
  return response.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
}
