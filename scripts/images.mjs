// npm run images: takes the screenshots in docs/images with Debian's Chromium, from a server that it fills with example
// data. Arguments select pictures by name: npm run images -- console-overview
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { prepareServer } from './build.mjs';
import { ensurePackages } from './install.mjs';
import { root, runCommand, StepError, say, started } from './steps.mjs';
import { systemPackages } from './system-packages.mjs';

/** The address in the pictures; Chromium resolves it to the local server. */
const ORIGIN = 'http://tiles.example.org';
const PASSWORD = 'a password for pictures';
const WAIT_MS = 120_000;
const NIGHTLY = { Name: 'europe', 'Cron expression': '0 22 * * *', 'Time zone': 'UTC' };

/** By picture: the page, the heading (console pages only) and locator to wait for, and the fields to fill in before it. */
const PICTURES = {
  'world-map': { address: '/', size: [1280, 760], ready: 'text=Made with Natural Earth' },
  'console-overview': { address: '/#/overview', heading: 'Overview', ready: 'text=Active tasks' },
  'console-layer': { address: '/#/layers/world', heading: 'The world', ready: 'text=/^Zoom [0-9]/' },
  'console-seed': {
    address: `/#/seed/world?zoomStop=8&threadCount=2&bounds=0,0,5000000,5000000`,
    heading: 'Seed and truncate',
    ready: 'text=Upstream requests',
    whole: true,
  },
  'console-schedule': {
    address: '/#/schedules/new?layer=world',
    heading: 'New schedule',
    fill: { ...NIGHTLY, 'Run from': '22:00', until: '06:00', 'To zoom': '7' },
    whole: true,
  },
  'console-task': { address: '/#/tasks/TASK', heading: 'Reseed world', dark: true, ready: 'text=Counters' },
  'layer-page': { address: '/layers/world', size: [900, 1590] },
  'ogc-api-tiles': { address: '/ogc/collections/world/map/tiles/EPSG:900913?f=html', size: [900, 620] },
};

await runCommand(async () => {
  const chosen = process.argv.slice(2);
  const unknown = chosen.filter((name) => !(name in PICTURES));
  if (unknown.length > 0) {
    throw new StepError(
      `There is no picture ${unknown.join(', ')}; there are: ${Object.keys(PICTURES).join(', ')}`,
    );
  }
  await ensurePackages();
  await prepareServer();
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-images-'));
  const port = await freePort();
  const server = await startServer(folder, port);
  try {
    const task = await giveItWork(`http://127.0.0.1:${port}`);
    await takePictures(port, task, chosen.length > 0 ? chosen : Object.keys(PICTURES));
  } finally {
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
});

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** The built-in layer, and a layer that takes its maps from it over the server's own WMS. */
function settings(port) {
  return `
layers:
  - name: world
    title: The world
    description: Land, seas and borders, drawn from Natural Earth data
    attribution: Made with Natural Earth
    source: { type: world }
    formats: [image/png, image/jpeg, image/webp]
    gridSets: [{ name: EPSG:900913, zoomStop: 12 }, { name: EPSG:4326, zoomStop: 12 }]
    parameters: [{ name: STYLES, default: light, values: [light, dark, outline] }]
    fullWMS: true
  - name: topp:europe
    title: Europe
    source: { type: wms, url: 'http://127.0.0.1:${port}/service/wms', layers: world }
    gridSets: [EPSG:900913]
`;
}

async function startServer(folder, port) {
  const config = join(folder, 'tilewarden.yaml');
  writeFileSync(config, settings(port));
  const args = ['serve', '--port', String(port), '--data', join(folder, 'data'), '--config', config];
  const server = await started(
    spawn(process.execPath, [join(root, 'dist', 'cli', 'main.js'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TILEWARDEN_ADMIN_PASSWORD: PASSWORD },
    }),
  );
  for await (const line of createInterface({ input: server.stdout })) if (line.includes('is ready at')) break;
  server.stdout.resume();
  return server;
}

/** Sets a quota, seeds and reads tiles, and starts a task that is still running in the pictures; returns its id. */
async function giveItWork(url) {
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
  const send = async (method, path, body) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
    if (!response.ok) throw new StepError(`${method} ${path}: ${await response.text()}`);
    return response.json();
  };
  const seed = (layer, zoomStop) =>
    send('POST', '/api/v1/tasks', { layer, type: 'seed', gridSet: 'EPSG:900913', zoomStop, threadCount: 2 });
  await send('PUT', '/diskquota.json', {
    tileQuotaConfiguration: { enabled: true, globalQuota: { value: '500', units: 'MiB' } },
  });
  const tasks = [await seed('world', 5), await seed('topp:europe', 3)];
  for (const { id } of tasks) {
    say(`… Task ${id}`);
    while (['pending', 'running'].includes((await send('GET', `/api/v1/tasks/${id}`)).state))
      await pause(500);
  }
  const places = Array.from({ length: 300 }, (_, i) => `5/${i % 20}/${Math.floor(i / 20)}`);
  for (const place of places) await (await fetch(`${url}/tiles/world/${place}.png`)).arrayBuffer();
  const request = { layer: 'world', type: 'reseed', gridSet: 'EPSG:900913', zoomStop: 8, threadCount: 1 };
  const { id } = await send('POST', '/api/v1/tasks', request);
  return id;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function takePictures(port, task, names) {
  const { chromium } = await import('playwright-core');
  const [program] = systemPackages().chromium.programs;
  const args = [
    '--no-sandbox',
    '--enable-unsafe-swiftshader',
    `--host-resolver-rules=MAP tiles.example.org:80 127.0.0.1:${port}`,
  ];
  const browser = await chromium.launch({ executablePath: `/usr/bin/${program}`, args });
  try {
    for (const name of names) await takePicture(browser, name, task);
  } finally {
    await browser.close();
  }
}

async function takePicture(browser, name, task) {
  const { address, size = [1280, 860], heading, ready, fill = {}, whole = false, dark } = PICTURES[name];
  const [width, height] = size;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  if (heading) await signIn(page);
  await page.goto(ORIGIN + address.replace('TASK', task));
  if (heading) await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  if (ready) await page.locator(ready).first().waitFor();
  for (const [label, value] of Object.entries(fill))
    await page.getByLabel(label, { exact: true }).fill(value);
  await page.waitForLoadState('load');
  // Tiles fade in, and the running task's figures arrive every second.
  await pause(3000);
  await page.evaluate(() => {
    document.activeElement?.blur();
    scrollTo(0, 0);
  });
  const picture = await page.screenshot({ fullPage: whole, animations: 'disabled' });
  const { default: sharp } = await import('sharp');
  const file = join(root, 'docs', 'images', `${name}.png`);
  await sharp(picture).png({ palette: true, effort: 10 }).toFile(file);
  say(`✓ docs/images/${name}.png`);
  await context.close();
}

async function signIn(page) {
  await page.goto(`${ORIGIN}/#/overview`);
  await page.getByLabel('Name', { exact: true }).fill('admin');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
}
