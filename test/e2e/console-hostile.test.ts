import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { inLength, randomSeed } from '../fixtures/length.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

/** Texts that set `window.stolen` or open a dialog if a page runs them. */
const RUN = 'window.stolen=1';

const MARKUP = [
  `<script>${RUN}</script>`,
  `<img src=x onerror=${RUN}>`,
  `<svg onload=${RUN}>`,
  `<svg><script>${RUN}</script></svg>`,
  `<body onload=${RUN}>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<iframe src="javascript:parent.${RUN}"></iframe>`,
  `<a href="javascript:${RUN}">x</a>`,
  `<details open ontoggle=${RUN}>`,
  `<input autofocus onfocus=${RUN}>`,
  `<video><source onerror=${RUN}></video>`,
  `<math><mi xlink:href="javascript:${RUN}">x</mi></math>`,
  `<style>@import "http://127.0.0.1:1/";</style>`,
  `<base href="http://127.0.0.1:1/">`,
  `<object data="javascript:${RUN}"></object>`,
  `<form action="javascript:${RUN}"><button>x</button></form>`,
  `<template><script>${RUN}</script></template>`,
  `<marquee onstart=${RUN}>`,
  `<link rel=stylesheet href="http://127.0.0.1:1/">`,
  `<meta http-equiv=refresh content="0;url=javascript:${RUN}">`,
];

const ESCAPES = [
  `"><script>${RUN}</script>`,
  `'><img src=x onerror=${RUN}>`,
  `" onmouseover="${RUN}`,
  `' onfocus='${RUN}' autofocus='`,
  `</title><script>${RUN}</script>`,
  `</script><script>${RUN}</script>`,
  `</textarea><script>${RUN}</script>`,
  `--><script>${RUN}</script>`,
  `]]><script>${RUN}</script>`,
  `\${${RUN}}`,
  `{{constructor.constructor('${RUN}')()}}`,
  `#{${RUN}}`,
  `javascript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `%3Cscript%3E${RUN}%3C/script%3E`,
  `&lt;script&gt;${RUN}&lt;/script&gt;`,
  `&#60;script&#62;${RUN}&#60;/script&#62;`,
  `\\u003cscript\\u003e${RUN}\\u003c/script\\u003e`,
  `x\u2028${RUN}\u2029x`,
  `\u202e<script>${RUN}</script>`,
];

const PLACES = [
  `../../${RUN}`,
  `..%2f..%2fapi%2fv1%2fsession`,
  `?x=<script>${RUN}</script>`,
  `#/layers/<img src=x onerror=${RUN}>`,
  `#x"><script>${RUN}</script>`,
  `__proto__`,
  `constructor`,
  `toString`,
  `hasOwnProperty`,
  `' or 1=1; --`,
  `"; ${RUN}; "`,
  `'; ${RUN}; '`,
  `\`; ${RUN}; \``,
  `);${RUN};(`,
  `url(javascript:${RUN})`,
  `expression(${RUN})`,
  `;background:url(http://127.0.0.1:1/)`,
  `<![CDATA[<script>${RUN}</script>]]>`,
  `<!--#exec cmd="id"-->`,
  `<x onclick=${RUN}>click`,
];

/** Sixty texts that have broken pages elsewhere. */
const XSS_PAYLOADS: readonly string[] = [...MARKUP, ...ESCAPES, ...PLACES];

/** All payloads are in the list; each run opens the pages of every tenth, and the long one all. */
const STEP = inLength(10, 1);

/** Every payload as a layer's name, title and parameter value, and as the error of a broken map server. */
function configFor(upstream: string): string {
  const layers = XSS_PAYLOADS.map((payload, place) => ({
    name: payload,
    title: XSS_PAYLOADS[(place + 7) % XSS_PAYLOADS.length],
    description: payload,
    source: { type: 'wms', url: `${upstream}/${place}`, layers: payload },
    formats: ['image/png'],
    gridSets: [{ name: 'EPSG:900913', zoomStop: 3 }],
    parameters: [{ name: 'STYLES', default: 'plain', values: ['plain', payload] }],
  }));
  const host = new URL(upstream).host;
  return JSON.stringify({ upstreams: { [host]: { allowPrivate: true } }, layers });
}

describe('texts that attack a page', needs('chromium'), () => {
  let upstream: Server;
  let server: OpenServer;
  let browser: Browser;
  let open: ConsolePage;

  beforeAll(async () => {
    upstream = createServer((request, response) => {
      const payload = XSS_PAYLOADS[Number(/\d+/.exec(request.url ?? '')?.[0])] ?? '';
      response.writeHead(200, { 'content-type': 'application/vnd.ogc.se_xml' });
      const text = payload.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      response.end(
        `<ServiceExceptionReport><ServiceException>${text}</ServiceException></ServiceExceptionReport>`,
      );
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as AddressInfo;
    server = await openServer({ config: configFor(`http://127.0.0.1:${port}`), expectedLog: /./ });
    browser = await sharedBrowser();
    open = await openConsole(browser, server.url);
    await open.signIn();
  });

  afterAll(async () => {
    await open?.close();
    await server?.stop();
    upstream?.close();
  });

  async function expectQuiet(where: string): Promise<void> {
    expect(await open.page.evaluate('window.stolen'), where).toBeUndefined();
    expect(open.complaints(), where).toEqual([]);
  }

  it('hostile texts do not run in lists, fields, maps and addresses of the console', async () => {
    expect(XSS_PAYLOADS).toHaveLength(60);
    await open.go('layers', 'Layers');
    await open.page.getByText('60 of 60').waitFor();
    await expectQuiet('the list of layers');
    const first = randomSeed() % STEP;
    for (const [place, payload] of XSS_PAYLOADS.entries()) {
      if (place % STEP !== first) continue;
      const title = XSS_PAYLOADS[(place + 7) % XSS_PAYLOADS.length] ?? '';
      const query = new URLSearchParams({ 'p.STYLES': payload });
      await open.page.goto(`${server.url}/#/layers/${encodeURIComponent(payload)}?${query}`);
      await eventually(
        `the page of layer ${payload}`,
        () => open.page.locator('h1:visible').textContent(),
        (heading) => heading === title,
      );
      await expectQuiet(payload);
    }
    await open.go(`seed/${encodeURIComponent(XSS_PAYLOADS[0] ?? '')}`, 'Seed and truncate');
    await expectQuiet('the form');
  });

  it('hostile texts do not run in tasks, failures and the audit log of the console', async () => {
    for (const layer of XSS_PAYLOADS.slice(0, 20)) {
      const answer = await fetch(`${server.url}/api/v1/tasks`, {
        method: 'POST',
        headers: { authorization: server.authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ layer, zoomStop: 0, parameters: { STYLES: layer }, tileFailureRetryCount: 0 }),
      });
      expect(answer.status).toBe(201);
    }
    await eventually(
      'the tasks have failed',
      async () => {
        const answer = await fetch(`${server.url}/api/v1/tasks?state=pending,running`, {
          headers: { authorization: server.authorization },
        });
        return ((await answer.json()) as { tasks: unknown[] }).tasks;
      },
      ({ length }) => length === 0,
    );
    for (const [path, heading] of [
      ['overview', 'Overview'],
      ['tasks', 'Tasks'],
      ['audit', 'Audit log'],
      ['quota', 'Quota'],
    ] as const) {
      await open.go(path, heading);
      await expectQuiet(path);
    }
    for (let id = 1; id <= 5; id++) {
      await open.page.goto(`${server.url}/#/tasks/${id}`);
      await open.page.getByRole('heading', { name: 'Failures' }).waitFor();
      await expectQuiet(`task ${id}`);
    }
  });
});
