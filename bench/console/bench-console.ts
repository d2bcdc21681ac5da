// What the console costs a browser and the server with 5,000 layers. Needs Debian's chromium-headless-shell.
// npm run bench -- console
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findProgram } from '../../test/fixtures/needs.ts';
import { processorSeconds } from '../hits/measure-hits.ts';
import { type ManyLayers, openManyLayers } from './many-layers.ts';

const LAYERS = 5000;
const TASKS = 1000;
const CONSOLES = 50;
const IDLE_SECONDS = 60;
/** Until 50 sign-ins and what the page asks first are over. */
const IDLE_MS = 20_000;
const SLOWER = 4;
const LOADS = 7;

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

interface Figure {
  readonly name: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
}

/**
 * When all of these are drawn and the page has time for a click or a key. Milliseconds since the navigation began.
 * Nothing else of the bench runs in the page until then: what it did would be slowed down and counted too.
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

/** Answers the longest time between two frames. */
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

const program = findProgram('chromium-headless-shell');
if (!program) throw new Error('Install the package chromium-headless-shell first.');
const server = await openManyLayers(LAYERS);
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
try {
  await server.createTasks(TASKS);
  print(await measureFirstLoad(browser));
  print([await measureScrolling(browser, 'layers', 'List of layers')]);
  print([await measureScrolling(browser, 'tasks', 'List of tasks')]);
  print([await measureIdle(server)]);
} finally {
  await browser.close();
  await server.close();
}

function print(figures: readonly Figure[]): void {
  for (const { name, value, limit, unit } of figures) {
    const verdict = value <= limit ? 'within' : 'ABOVE';
    process.stdout.write(`${name}: ${value.toFixed(1)} ${unit} (${verdict} ${limit})\n`);
  }
}

async function openPage(using: Browser): Promise<Page> {
  const context = await using.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${server.url}/#/overview`);
  await page.getByLabel('Name').fill('admin');
  await page.getByLabel('Password').fill(server.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  return page;
}

/** Bytes that the network carries, and the time until one can type or click, on a processor four times slower. */
async function measureFirstLoad(using: Browser): Promise<readonly Figure[]> {
  const known = await openPage(using);
  const storageState = await known.context().storageState();
  await known.context().close();
  const overview = await loadTimes(using, storageState, ['.nav a', '.page h1']);
  const login = await loadTimes(using, undefined, ['.login input[type=password]']);
  return [
    { name: 'first load, compressed', value: overview.bytes / 1024, limit: 350, unit: 'KB' },
    { name: `overview, ${SLOWER} times slower`, value: overview.seconds, limit: 1.5, unit: 's' },
    { name: `sign-in form, ${SLOWER} times slower`, value: login.seconds, limit: 1.5, unit: 's' },
  ];
}

/** The middle one of several loads, each in a browser profile that has nothing yet. */
async function loadTimes(
  using: Browser,
  storageState: StorageState | undefined,
  selectors: readonly string[],
): Promise<{ readonly bytes: number; readonly seconds: number }> {
  const times: number[] = [];
  let bytes = 0;
  for (let load = 0; load < LOADS; load++) {
    const context = await using.newContext(storageState && { storageState });
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
  times.sort((a, b) => a - b);
  process.stdout.write(`loads: ${times.map((time) => time.toFixed(2)).join(' ')} s\n`);
  return { bytes, seconds: times[Math.floor(LOADS / 2)] ?? Number.NaN };
}

/** The longest time between two frames while a list is scrolled to its end. */
async function measureScrolling(using: Browser, path: string, label: string): Promise<Figure> {
  const page = await openPage(using);
  await page.goto(`${server.url}/#/${path}`);
  await page.getByLabel(label).waitFor();
  await delay(1500);
  const longest = (await page.evaluate(SCROLL)) as number;
  await page.context().close();
  return { name: `${label}: longest frame while scrolling`, value: longest, limit: 50, unit: 'ms' };
}

/** Consoles that are open on the overview: one stream each, and what the page asks for every 30 or 60 seconds. */
async function measureIdle(of: ManyLayers): Promise<Figure> {
  const stop = new AbortController();
  const consoles = Array.from({ length: CONSOLES }, () => holdConsole(of, stop.signal));
  await delay(IDLE_MS);
  const before = processorSeconds([of.pid]);
  await delay(IDLE_SECONDS * 1000);
  const used = (processorSeconds([of.pid]) - before) / IDLE_SECONDS;
  stop.abort();
  await Promise.all(consoles);
  return { name: `${CONSOLES} open consoles, idle`, value: used * 100, limit: 3, unit: '% of a core' };
}

async function holdConsole({ url, password }: ManyLayers, signal: AbortSignal): Promise<void> {
  const headers = { cookie: await signIn(url, password) };
  const ask = (path: string) => fetch(`${url}/api/v1/${path}`, { headers, signal });
  const stream = await ask('events');
  const reading = stream.text();
  const polls = [
    ['usage', 30_000],
    ['series', 60_000],
    ['upstreams', 60_000],
  ] as const;
  const asking = polls.map(async ([path, every]) => {
    await delay(Math.random() * every, null, { signal });
    for (; !signal.aborted; await delay(every, null, { signal })) await (await ask(path)).text();
  });
  await Promise.allSettled([reading, ...asking]);
}

/** As the console does it: a session, not a password with every request. */
async function signIn(url: string, password: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'admin', password }),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0];
  if (cookie === undefined) throw new Error(`No session: ${await answer.text()}`);
  return cookie;
}
