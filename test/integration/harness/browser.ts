/**
 * The Chromium in which windows are opened. Test files that share one share its page too: a process that has compiled
 * the workbench opens it the next time in half the time.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium as playwright } from 'playwright-core';
import type { Browser, BrowserContext, BrowserServer, Page } from 'playwright-core';
import { chromium } from '../../support/tools.ts';
import { eventually } from './eventually.ts';

/** Chromium reads the last list only: this is Playwright's own, and the pages of the address bar. */
const DISABLED_FEATURES = [
  ...['AimEnabled', 'AvoidCorsURLLoaderRestartOnRedirect', 'AvoidUnnecessaryBeforeUnloadCheckSync'],
  ...['DestroyProfileOnBrowserClose', 'HttpsFirstBalancedModeAutoEnable', 'HttpsUpgrades', 'LensOverlay'],
  ...['MediaRouter', 'NetworkTimeServiceQuerying', 'OptimizationHints', 'PaintHolding', 'PreconnectToSearch'],
  ...['ThirdPartyStoragePartitioning', 'WebUIOmniboxAimPopup', 'WebUIOmniboxPopup'],
];
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
  `--disable-features=${DISABLED_FEATURES.join(',')}`,
];
const PAGE = {
  viewport: { width: 1400, height: 900 },
  reducedMotion: 'reduce',
  // Without compression: the server and the browser are on one machine, and the workbench has 20 MB.
  extraHTTPHeaders: { 'accept-encoding': 'identity' },
} as const;
const PROFILE = '--user-data-dir=';
/** A page that is not blank by then hangs. */
const BLANK_TIMEOUT = 20_000;

/** A browser for this process alone. */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({ executablePath: await chromium(), args: FLAGS });
}

/** A browser that processes connect to, one after another. @returns it, with its address for connectBrowser */
export async function launchShared(): Promise<{ readonly browser: BrowserServer; readonly address: string }> {
  const browser = await playwright.launchServer({
    executablePath: await chromium(),
    args: [...FLAGS, '--remote-debugging-port=0'],
  });
  try {
    const profile = browser.process().spawnargs.find((argument) => argument.startsWith(PROFILE)) ?? '';
    const file = join(profile.slice(PROFILE.length), 'DevToolsActivePort');
    const address = await eventually('the address of Chromium', async () => {
      const [port, path] = (await readFile(file, 'utf8')).split('\n');
      return port === undefined || path === undefined ? undefined : `ws://127.0.0.1:${port}${path}`;
    });
    return { browser, address };
  } catch (error) {
    await browser.close();
    throw error;
  }
}

/** Connects to a shared browser; routes, listeners, permissions and contexts end with the connection. */
export async function connectBrowser(address: string): Promise<Browser> {
  return playwright.connectOverCDP(address, { isLocal: true });
}

/** A page with browser storage of its own, which ends with it. */
export async function newPage(browser: Browser): Promise<Page> {
  return browser.newPage(PAGE);
}

/**
 * Empties the page of a shared browser: storage, settings and other pages of the previous test file are removed, also
 * after a crash. Chromium keeps its caches of fetched files and compiled code.
 */
export async function emptyPage(browser: Browser): Promise<Page> {
  const page = await blankPage(browser);
  const context = page.context();
  const session = await context.newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' });
  await session.detach();
  await context.setExtraHTTPHeaders(PAGE.extraHTTPHeaders);
  await page.setViewportSize(PAGE.viewport);
  await page.emulateMedia({ reducedMotion: PAGE.reducedMotion });
  return page;
}

/** Leaves one page in a shared browser, a blank one. One that has crashed or hangs is replaced. */
export async function blankPage(browser: Browser): Promise<Page> {
  const context = sharedContext(browser);
  const [page, ...others] = context.pages();
  await Promise.all(others.map((other) => other.close()));
  try {
    await page?.goto('about:blank', { timeout: BLANK_TIMEOUT });
  } catch {
    await page?.close();
  }
  return page === undefined || page.isClosed() ? context.newPage() : page;
}

function sharedContext(browser: Browser): BrowserContext {
  const [context] = browser.contexts();
  if (context === undefined) {
    throw new Error('The shared Chromium has no context: it must be connected to by connectBrowser.');
  }
  return context;
}
