/** What the scenarios of the run dashboard share: its charts and tables, and what it says. */

import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import type { StoreWriter } from '../../src/store/write/writer.ts';
import { openMade } from './dashboardStore.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { chooseOption, storeOf } from './team.ts';

export async function openDashboard(workbench: Workbench): Promise<FrameLocator> {
  await workbench.runCommand('C3: Open run dashboard');
  return workbench.webview('Run dashboard');
}

export function figure(dashboard: FrameLocator, title: string | RegExp): Locator {
  return dashboard.getByRole('figure', { name: title, exact: true });
}

export function chart(dashboard: FrameLocator, title: string): Locator {
  return figure(dashboard, title).getByRole('application');
}

/** Chooses an entry of one of the dashboard's dropdowns: a run, an axis, a scale. */
export async function choose(
  workbench: Workbench,
  dashboard: FrameLocator,
  chooser: string,
  title: string,
): Promise<void> {
  // Away from what shows a hover over the page.
  await workbench.page.mouse.move(700, 5);
  await chooseOption(dashboard, chooser, title);
}

/** Waits until a chart has so many points. */
export async function seePoints(dashboard: FrameLocator, title: string, number: number): Promise<void> {
  await eventually(`${number} points of ${title}`, async () =>
    (await chart(dashboard, title).getAttribute('aria-label'))?.includes(` ${number} points`),
  );
}

/** Waits until so many runs lie over each other. */
export async function seeRuns(dashboard: FrameLocator, number: number): Promise<Locator> {
  const legend = dashboard.getByRole('list', { name: 'Runs in the charts' });
  await eventually(`${number} runs in the legend`, async () => (await legend.getByRole('listitem').count()) === number);
  return legend;
}

/** Takes off the runs that were laid over another before, whichever they are. */
export async function takeOff(dashboard: FrameLocator): Promise<void> {
  await eventually('one run alone', async () => {
    const others = dashboard.getByRole('button', { name: /^Remove run .$/u });
    if ((await others.count()) > 0) {
      await others.first().click({ timeout: 1_000 });
    }
    return (await others.count()) === 0;
  });
}

/** What was said to who cannot see. */
export async function heard(dashboard: FrameLocator, words: RegExp): Promise<string> {
  return eventually(`${String(words)} said`, async () => {
    const said = await dashboard.locator('[aria-live="polite"]').innerText();
    return words.test(said) ? said : undefined;
  });
}

/** The cells of a chart's table, row by row; it is opened where it is closed. */
export async function tableOf(
  dashboard: FrameLocator,
  title: string,
  rowsAtLeast = 1,
): Promise<readonly (readonly string[])[]> {
  const button = dashboard.getByRole('button', { name: `Table of ${title}`, exact: true });
  if ((await button.getAttribute('aria-expanded')) !== 'true') {
    await button.click();
  }
  const rows = dashboard.getByRole('table', { name: title, exact: true }).locator('tbody tr');
  return eventually(`rows of ${title}`, async () => {
    const texts = await rows.allInnerTexts();
    return texts.length >= rowsAtLeast && texts.map((text) => text.split('\t'));
  });
}

/** The page under a panel is no wider than what is seen of it. */
export async function assertFits(dashboard: FrameLocator, where: string): Promise<void> {
  // The editor lays out its panels some frames after the window, and charts some after those.
  await eventually(`the page to fit ${where}`, async () => {
    const wide = await widthOf(dashboard);
    assert.ok(wide.scroll <= wide.client && wide.beyond.length === 0, JSON.stringify(wide));
    return true;
  });
}

async function widthOf(
  dashboard: FrameLocator,
): Promise<{ readonly scroll: number; readonly client: number; readonly beyond: readonly string[] }> {
  return dashboard.locator('html').evaluate((page: HTMLElement) => {
    const { clientWidth } = page;
    const beyond = [...page.querySelectorAll<HTMLElement>('body *')].filter(
      (element) =>
        element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true }) &&
        element.closest('.data') === null &&
        element.getBoundingClientRect().right > clientWidth + 1,
    );
    return {
      scroll: page.scrollWidth,
      client: clientWidth,
      beyond: beyond.slice(0, 3).map((element) => `${element.tagName} ${element.className}`),
    };
  });
}

/** Writes into a workspace's store as the engine does; the store is made where there is none. */
export async function withMade(
  workbench: Workbench,
  work: (store: StoreWriter) => void | Promise<void>,
): Promise<void> {
  const store = openMade(storeOf(workbench.folder));
  try {
    await work(store);
  } finally {
    store.close();
  }
}
