/** The page that test files share: each gets it with nothing of the one before. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { z } from 'zod';
import { blankPage, connectBrowser, emptyPage, launchShared } from './harness/browser.ts';

const http = createServer((request, response) => {
  const script = request.url === '/worker.js';
  response.setHeader('content-type', script ? 'text/javascript' : 'text/html');
  response.end(script ? 'self.addEventListener("fetch", () => {});' : '<title>page</title>');
}).listen(0, '127.0.0.1');
await once(http, 'listening');
const { port } = z.object({ port: z.number() }).parse(http.address() satisfies AddressInfo | string | null);
/** One for the editor, one for what it embeds. */
const ORIGINS = [`http://127.0.0.1:${port}`, `http://embedded.localhost:${port}`];
const { browser, address } = await launchShared();
after(async () => {
  await browser.close();
  http.close();
});

/** Writes to every place that a page can write to. */
const WRITE = `(async () => {
  localStorage.kept = sessionStorage.kept = document.cookie = 'kept=1';
  await new Promise((resolve, reject) => {
    const opened = indexedDB.open('kept');
    opened.onsuccess = resolve;
    opened.onerror = reject;
  });
  await caches.open('kept');
  await (await navigator.storage.getDirectory()).getFileHandle('kept', { create: true });
  await navigator.serviceWorker.register('/worker.js');
})()`;
const READ = `(async () => ({
  local: localStorage.length,
  session: sessionStorage.length,
  cookies: document.cookie.length,
  databases: (await indexedDB.databases()).length,
  caches: (await caches.keys()).length,
  files: (await Array.fromAsync((await navigator.storage.getDirectory()).keys())).length,
  workers: (await navigator.serviceWorker.getRegistrations()).length,
  allowed: (await navigator.permissions.query({ name: 'clipboard-read' })).state === 'granted' ? 1 : 0,
  width: innerWidth,
  still: matchMedia('(prefers-reduced-motion: reduce)').matches,
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
  planted: 'planted' in globalThis,
}))()`;

test('holds nothing that the one before has stored, allowed, set or planted, even where that one died', async () => {
  const first = await connectBrowser(address);
  const page = await emptyPage(first);
  await page.addInitScript('globalThis.planted = true');
  await page.route('**/never', (route) => route.abort());
  await page.setViewportSize({ width: 640, height: 400 });
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'no-preference' });
  await page.context().grantPermissions(['clipboard-read']);
  for (const origin of ORIGINS) {
    await page.goto(origin);
    await page.evaluate(WRITE);
    assert.deepEqual(await page.evaluate(READ), {
      ...{ local: 1, session: 1, cookies: 6, databases: 1, caches: 1, files: 1, workers: 1, allowed: 1 },
      ...{ width: 640, still: false, dark: true, planted: true },
    });
  }
  const another = await page.context().newPage();
  await another.goto(ORIGINS[0] ?? '');
  const own = await first.newContext();
  await own.newPage();
  // As a process that dies: nothing is given back.
  await first.close();

  const second = await connectBrowser(address);
  const empty = await emptyPage(second);
  assert.equal(empty.url(), 'about:blank');
  assert.deepEqual([second.contexts().length, empty.context().pages().length], [1, 1]);
  for (const origin of ORIGINS) {
    assert.equal((await empty.goto(`${origin}/never`))?.status(), 200);
    assert.deepEqual(await empty.evaluate(READ), {
      ...{ local: 0, session: 0, cookies: 0, databases: 0, caches: 0, files: 0, workers: 0, allowed: 0 },
      ...{ width: 1400, still: true, dark: false, planted: false },
    });
  }
  await blankPage(second);
  await second.close();
});

test('is another one where it crashed', async () => {
  const first = await connectBrowser(address);
  const page = await emptyPage(first);
  const crashed = page.waitForEvent('crash');
  await page.goto('chrome://crash').catch(() => undefined);
  await crashed;
  await first.close();
  const second = await connectBrowser(address);
  const next = await emptyPage(second);
  await next.goto(ORIGINS[0] ?? '');
  assert.equal(await next.title(), 'page');
  assert.equal(next.context().pages().length, 1);
  await second.close();
});
