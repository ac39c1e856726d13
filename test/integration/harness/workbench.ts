/**
 * Tests in a real VS Code: the files of the package are installed in code-server, and driven in Chromium as a user
 * drives them.
 *
 *   import assert from 'node:assert/strict';
 *   import { workbenchScenarios } from './harness/workbench.ts';
 *
 *   const scenario = workbenchScenarios({ files: { 'team.c3.yaml': 'steps: 2\n' } });
 *
 *   scenario('a run opens its dashboard', async (workbench) => {
 *     await workbench.runCommand('C3: Open Dashboard');
 *     const dashboard = await workbench.webview('Dashboard');
 *     await dashboard.getByRole('heading', { name: 'Accuracy' }).waitFor();
 *     await workbench.screenshot('dashboard', 'light');
 *   });
 *
 * All scenarios of a file share one window on one server; `Workbench.open` gives a test a server of its own,
 * `openSecondWindow` another window on the same server. What the helpers do not cover is reached through `page`, a
 * Playwright page. Nothing sleeps: wait for what is needed with a locator's `waitFor`, or with `eventually`. When a
 * scenario fails, its picture and the logs are left in test/artifacts/<file>/<scenario>.
 */

import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import type { BrowserContext, FrameLocator, Locator, Page } from 'playwright-core';
import { copyRecorded } from '../../support/recordedStores.ts';
import type { RecordingName } from '../../support/recordings.ts';
import { eventually } from './eventually.ts';
import { saveFailure } from './failure.ts';
import { makeFolder, removeFolder, takePair, type Pair } from './pool.ts';
import { writeFiles, type EditorServer, type ServerOptions } from './server.ts';

export { eventually } from './eventually.ts';

export interface WorkbenchOptions {
  /** Files of the workspace folder: relative path to content. */
  readonly files?: Readonly<Record<string, string>>;
  /** A recorded store that the folder has a copy of, with the files that made it. */
  readonly recording?: RecordingName;
  /** Settings of the workspace folder. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** For a server of the file's own: what the ones that files share cannot have, or {} to end or restart it. */
  readonly server?: ServerOptions;
}

/** The identifier under which the extension is installed: publisher.name of package.json. */
export const EXTENSION_ID = 'c3-replay.c3-replay';

/**
 * The setting of a theme, the class that it puts on the workbench, and the class that it puts on every webview's
 * body.
 */
const THEMES = {
  dark: { setting: 'Default Dark Modern', workbench: 'vs-dark', webview: 'vscode-dark' },
  light: { setting: 'Default Light Modern', workbench: 'vs', webview: 'vscode-light' },
  highContrast: { setting: 'Default High Contrast', workbench: 'hc-black', webview: 'vscode-high-contrast' },
} as const;

export type Theme = keyof typeof THEMES;

const ARTIFACTS = join(import.meta.dirname, '..', '..', 'artifacts');
/** Ceilings, not paces: a busy machine takes long to start an engine, and nothing waits longer than it must. */
const LOCATOR_TIMEOUT = 90_000;
/** For a list or a box that a late focus may have closed: then it is asked for again. */
const LIST_TIMEOUT = 15_000;
const WORKBENCH_TIMEOUT = 120_000;
const SCENARIO_TIMEOUT = 900_000;
/**
 * One window for all scenarios of a test file, opened before the first and closed after the last.
 * @returns what declares a scenario: a name and a body that gets the window
 */
export function workbenchScenarios(
  options: WorkbenchOptions = {},
): (name: string, body: (workbench: Workbench) => Promise<void>) => void {
  let workbench: Workbench | undefined;
  before(async () => {
    workbench = await Workbench.open(options);
  });
  after(async () => await workbench?.close());
  return (name, body) => {
    test(name, { timeout: SCENARIO_TIMEOUT }, async () => {
      if (workbench === undefined) {
        throw new Error('The window did not open.');
      }
      await workbench.context.tracing.startChunk({ title: name });
      try {
        await body(workbench);
        await workbench.context.tracing.stopChunk();
      } catch (error) {
        await workbench.saveFailure(name);
        throw error;
      }
    });
  };
}

/** Sizes of a window on a small screen and on a usual one. */
export const SCREENS = [
  [1280, 800],
  [1920, 1080],
] as const;

export class Workbench {
  /** The window, for what the helpers below do not cover. */
  readonly page: Page;
  /** The temporary folder opened as workspace. */
  readonly folder: string;
  /** What the window and its webviews printed on their consoles, one "type: text (address)" each. */
  readonly console: string[] = [];
  /** When it was opened, in milliseconds since 1970: logs before it are of other windows. */
  readonly opened = Date.now();
  private readonly pair: Pair;
  private settings: Readonly<Record<string, unknown>>;

  private constructor(pair: Pair, page: Page, folder: string, settings: Readonly<Record<string, unknown>>) {
    this.pair = pair;
    this.page = page;
    this.folder = folder;
    this.settings = settings;
    page.setDefaultTimeout(LOCATOR_TIMEOUT);
    page.on('console', (message) =>
      this.console.push(`${message.type()}: ${message.text()} (${message.location().url})`),
    );
    page.on('pageerror', (error) => this.console.push(`uncaught: ${error.stack ?? error.message}`));
  }

  /** A window on a fresh folder, with browser storage of its own; to be closed. */
  static async open(options: WorkbenchOptions = {}): Promise<Workbench> {
    const settings = options.settings ?? {};
    const folder = await makeFolder(options.files ?? {}, settings);
    if (options.recording !== undefined) {
      await copyRecorded(options.recording, folder);
    }
    const pair = await takePair(options.server);
    try {
      // Actions, consoles and requests alone: copies of the page would take longer than the scenarios.
      await pair.page.context().tracing.start({ screenshots: false, snapshots: false });
      const workbench = new Workbench(pair, pair.page, folder, settings);
      await workbench.load();
      return workbench;
    } catch (error) {
      await pair.release();
      await removeFolder(folder);
      throw error;
    }
  }

  /** Another window on the same server and folder, with browser storage of its own; it ends with the first. */
  async openSecondWindow(): Promise<Workbench> {
    const workbench = new Workbench(this.pair, await this.pair.anotherPage(), this.folder, this.settings);
    await workbench.load();
    return workbench;
  }

  /** A page of the same browser with nothing of the editor in it. */
  async otherPage(): Promise<Page> {
    return this.pair.anotherPage();
  }

  /** Closes the windows, ends what they started, and removes the folder. */
  async close(): Promise<void> {
    await this.pair.release();
    await removeFolder(this.folder);
  }

  get server(): EditorServer {
    return this.pair.server;
  }

  /** The browser storage of the window. */
  get context(): BrowserContext {
    return this.page.context();
  }

  /** Loads the window anew, as the browser's reload does. */
  async reload(): Promise<void> {
    await this.load();
  }

  private async load(): Promise<void> {
    await this.page.goto(`${this.server.url}/?folder=${encodeURIComponent(this.folder)}`, {
      waitUntil: 'commit',
      timeout: WORKBENCH_TIMEOUT,
    });
    await this.page.locator('.monaco-workbench .part.statusbar').waitFor({ timeout: WORKBENCH_TIMEOUT });
  }

  /** Runs a command of the palette by its full title, "Category: Title"; waits until it is registered. */
  async runCommand(title: string): Promise<void> {
    await this.choose(`>${title}`, title);
  }

  /**
   * Runs a command and answers the lists that it asks with. A panel that takes the focus back late closes a list: it is
   * then run again.
   */
  async runCommandAndPick(title: string, ...labels: readonly (string | RegExp)[]): Promise<void> {
    await eventually(
      `the lists of "${title}"`,
      async () => {
        await this.runCommand(title);
        for (const label of labels) {
          await this.pick(label, LIST_TIMEOUT);
        }
        return true;
      },
      2 * LOCATOR_TIMEOUT,
    );
  }

  /** Opens a file of the workspace in an editor and waits for its text. */
  async openFile(path: string): Promise<void> {
    await this.choose(join(this.folder, path), basename(path));
    await this.page
      .locator(`.editor-instance .monaco-editor[data-uri$="${basename(path)}"] .view-line`)
      .first()
      .waitFor();
  }

  /** Closes the editor in front, and waits until it is gone. */
  async closeEditor(): Promise<void> {
    const tabs = this.page.locator('.tabs-container [role="tab"]');
    const before = await tabs.count();
    await this.runCommand('View: Close Editor');
    await eventually('the editor to be closed', async () => (await tabs.count()) === before - 1);
  }

  /**
   * Closes all editors, without what was typed and not saved, and waits until they are gone with their webviews, which
   * are not taken for the next one.
   */
  async closeAllEditors(): Promise<void> {
    await this.runCommand('View: Close All Editors');
    const discard = this.page.locator('.monaco-dialog-box').getByRole('button', { name: "Don't Save", exact: true });
    await eventually('all editors to be closed', async () => {
      if (await discard.isVisible()) {
        await discard.click({ timeout: LIST_TIMEOUT });
      }
      return (
        (await this.page.locator('.tabs-container [role="tab"]').count()) === 0 && (await this.webviews()).length === 0
      );
    });
  }

  /** The list is made once per input, so a row that is not there yet is asked for again. */
  private async choose(input: string, label: string): Promise<void> {
    await eventually(
      `"${label}" in the palette`,
      async () => {
        await this.page.keyboard.press('Escape');
        await this.page.keyboard.press('F1');
        await this.page.locator('.quick-input-widget input.input').fill(input, { timeout: LIST_TIMEOUT });
        await this.row(label).waitFor({ timeout: 2_000 });
        await this.row(label).click({ timeout: 10_000 });
        return true;
      },
      2 * LOCATOR_TIMEOUT,
    );
    // What is typed next is for the list that the command opens, not for the palette.
    const inputs = this.page.locator('.quick-input-widget:visible input.input');
    await eventually('the palette to close', () =>
      inputs.evaluateAll(
        (all, typed) => all.every((field) => field instanceof HTMLInputElement && field.value !== typed),
        input,
      ),
    );
  }

  /** Chooses an entry of the quick pick that is open, by its whole label. */
  async pick(label: string | RegExp, timeout = LOCATOR_TIMEOUT): Promise<void> {
    await this.row(label).click({ timeout });
  }

  /** Confirms what a dialog of the editor asks. */
  async confirm(action: string): Promise<void> {
    await this.page.locator('.monaco-dialog-box').getByRole('button', { name: action, exact: true }).click();
  }

  /**
   * Chooses an entry of a row's context menu, which has it once the editor knows of what was done before. A panel that
   * takes the focus back late closes the menu: it is then opened again.
   */
  async chooseOnceOffered(target: Locator, name: string): Promise<void> {
    const entry = this.page.getByRole('menuitem', { name, exact: true });
    await eventually(`"${name}" in the menu`, async () => {
      await this.page.keyboard.press('Escape');
      await target.click({ button: 'right', timeout: LIST_TIMEOUT });
      await entry.waitFor({ timeout: 2_000 });
      return takeClick(entry);
    });
  }

  /** Chooses an entry of the context menu that is open. */
  async chooseFromMenu(name: string): Promise<void> {
    const entry = this.page.getByRole('menuitem', { name, exact: true });
    await entry.waitFor();
    if (!(await takeClick(entry))) {
      throw new Error(`The menu closed before "${name}" was clicked.`);
    }
  }

  /** Types an answer into the input box that is open, and accepts it. */
  async answer(text: string, timeout = LOCATOR_TIMEOUT): Promise<void> {
    const input = this.page.locator('.quick-input-widget:visible input.input');
    await input.fill(text, { timeout });
    await input.press('Enter', { timeout });
  }

  /** Runs a command and answers the box that it asks with, which a panel that takes the focus back late closes, too. */
  async runCommandAndAnswer(title: string, text: string): Promise<void> {
    await eventually(
      `the box of "${title}"`,
      async () => {
        await this.runCommand(title);
        await this.answer(text, LIST_TIMEOUT);
        return true;
      },
      2 * LOCATOR_TIMEOUT,
    );
  }

  /** Opens the palette and types into it; the row that has these words. */
  async searchPalette(input: string, words: string): Promise<Locator> {
    const row = this.page.locator('.quick-input-widget .monaco-list-row', { hasText: words });
    await eventually(`"${words}" in the palette`, async () => {
      await this.page.keyboard.press('Escape');
      await this.page.keyboard.press('F1');
      await this.page.locator('.quick-input-widget input.input').fill(input, { timeout: LIST_TIMEOUT });
      await row.first().waitFor({ timeout: LIST_TIMEOUT });
      return true;
    });
    return row;
  }

  private row(label: string | RegExp): Locator {
    const name = this.page.locator('.label-name', { hasText: typeof label === 'string' ? wholly(label) : label });
    return this.page.locator('.quick-input-widget:visible .monaco-list-row').filter({ has: name }).first();
  }

  /**
   * Opens a view of the side bar.
   * @param container title of the icon in the activity bar
   * @param view title of the section; the first where it is left out
   * @returns the view's body
   */
  async openView(container: string, view?: string): Promise<Locator> {
    const icon = this.page.locator(
      `.activitybar .action-item:has(a[aria-label="${container}"], a[aria-label^="${container} "])`,
    );
    await icon.waitFor();
    const side = this.page.locator('.part.sidebar');
    // A window that has only just loaded may open the view by itself, and a click on the icon of an open one closes it.
    await eventually(`the view "${container}"`, async () => {
      if ((await icon.getAttribute('aria-expanded')) !== 'true') {
        await icon.click({ timeout: 2_000 });
      }
      await side.locator('.composite.title h2', { hasText: container }).waitFor({ timeout: 2_000 });
      return true;
    });
    const pane =
      view === undefined
        ? side.locator('.pane').first()
        : side
            .locator('.pane')
            .filter({
              has: this.page.locator(
                `.pane-header[aria-label="${view} Section"], .pane-header:has(h3.title:text-is("${view}"))`,
              ),
            });
    const header = pane.locator('.pane-header');
    await eventually(`the section of "${container}"`, async () => {
      if ((await header.getAttribute('aria-expanded')) === 'false') {
        await header.click({ timeout: 2_000 });
      }
      return (await header.getAttribute('aria-expanded')) !== 'false';
    });
    const body = pane.locator('.pane-body');
    await body.waitFor();
    return body;
  }

  /** A row of a tree view, by a part of its text. */
  treeItem(body: Locator, text: string | RegExp): Locator {
    return body.getByRole('treeitem').filter({ hasText: text }).first();
  }

  /** The tab of an editor or panel, by its title. */
  tab(title: string): Locator {
    return this.page.locator(
      `.tabs-container [role="tab"][aria-label="${title}"], .tabs-container [role="tab"][aria-label^="${title}, "]`,
    );
  }

  /** Whether the page of a panel or a view has the keyboard, and not the editor around it. */
  pageHasFocus(): Promise<boolean> {
    return this.page.evaluate(() => document.activeElement?.matches('iframe.webview') === true);
  }

  /** The document of a visible webview of the extension, by its panel's or view's title; waits until it has loaded. */
  async webview(title: string | RegExp): Promise<FrameLocator> {
    const name = await eventually(
      `the webview "${String(title)}"`,
      async () => {
        for (const frame of await this.webviews()) {
          const shown = await frame
            .contentFrame()
            .locator('iframe#active-frame')
            .getAttribute('title', { timeout: 1_000 });
          if (shown !== null && (typeof title === 'string' ? shown === title : title.test(shown))) {
            return (await frame.getAttribute('name', { timeout: 1_000 })) ?? undefined;
          }
        }
        return undefined;
      },
      2 * LOCATOR_TIMEOUT,
    );
    return this.page
      .locator(`iframe.webview[name="${name}"]`)
      .contentFrame()
      .locator('iframe#active-frame')
      .contentFrame();
  }

  private webviews(): Promise<Locator[]> {
    return this.page.locator(`iframe.webview.ready[src*="extensionId=${EXTENSION_ID}"]:visible`).all();
  }

  /** A notification, by a part of its text. */
  notification(text: string | RegExp): Locator {
    return this.page.locator('.notification-toast .notification-list-item').filter({ hasText: text }).first();
  }

  /** Presses a button of a notification. */
  async answerNotification(text: string | RegExp, button: string): Promise<void> {
    await this.notification(text).getByRole('button', { name: button, exact: true }).click();
  }

  /** An entry of the status bar, by a part of its text. */
  statusBarItem(text: string | RegExp): Locator {
    return this.page.locator('.part.statusbar .statusbar-item').filter({ hasText: text }).first();
  }

  /** Changes settings of the folder, on top of the ones given so far, and loads the window anew with them. */
  async changeSettings(changes: Readonly<Record<string, unknown>>): Promise<void> {
    this.settings = { ...this.settings, ...changes };
    await this.writeSettings();
    // What the editor reads at its start alone has changed too.
    await this.reload();
  }

  private async writeSettings(): Promise<void> {
    await writeFiles(this.folder, { [join('.vscode', 'settings.json')]: JSON.stringify(this.settings, null, 2) });
  }

  /** Changes the colour theme by the settings of the folder, and waits until the window and its webviews have it. */
  async setTheme(theme: Theme): Promise<void> {
    const { setting, workbench, webview } = THEMES[theme];
    const themed = this.page.locator(`.monaco-workbench.${workbench}`);
    if (!(await themed.isVisible())) {
      this.settings = { ...this.settings, 'workbench.colorTheme': setting };
      await eventually(`the theme "${setting}"`, async () => {
        // A window that was loading when the file changed has read the one before, and is told by the next change.
        await this.writeSettings();
        await themed.waitFor({ timeout: LIST_TIMEOUT });
        return true;
      });
    }
    for (const frame of await this.webviews()) {
      await frame.contentFrame().locator('iframe#active-frame').contentFrame().locator(`body.${webview}`).waitFor();
    }
  }

  /**
   * Saves a picture of the window as test/artifacts/screenshots/<name>[-<theme>].png.
   * @param theme changed to before, when given
   * @returns the absolute path of the picture
   */
  async screenshot(name: string, theme?: Theme): Promise<string> {
    if (theme !== undefined) {
      await this.setTheme(theme);
    }
    const path = join(ARTIFACTS, 'screenshots', `${name}${theme === undefined ? '' : `-${theme}`}.png`);
    await this.page.screenshot({ path, animations: 'disabled' });
    return path;
  }

  /**
   * Saves pictures of the window in themes and sizes, as NAME-WIDTH-THEME.png; it stays in the last of both.
   * @param prepare what comes before each picture
   */
  async pictures(
    name: string,
    themes: readonly Theme[],
    sizes: readonly (readonly [width: number, height: number])[],
    prepare: (width: number) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    // A theme takes seconds, a size none.
    for (const theme of themes) {
      await this.setTheme(theme);
      for (const [width, height] of sizes) {
        await this.page.setViewportSize({ width, height });
        await prepare(width);
        await this.screenshot(`${name}-${width}-${theme}`);
      }
    }
  }

  /** Leaves picture, trace, consoles and logs in test/artifacts/<file>/<name>, and prints what helps most. */
  async saveFailure(name: string): Promise<void> {
    await saveFailure(name, this);
  }
}

/**
 * Clicks an entry of a menu until the menu takes it: one that has only just opened takes no click, lest the one that
 * opened it choose.
 * @returns false where the menu went before the button was released over it: nothing was chosen
 */
async function takeClick(entry: Locator): Promise<boolean> {
  const released = await entry.evaluateHandle((element) => {
    const seen = { yet: false };
    element.addEventListener('mouseup', () => (seen.yet = true), { capture: true });
    return seen;
  });
  await eventually('the menu to take the click', async () => {
    if (await entry.isVisible()) {
      await entry.click({ timeout: LIST_TIMEOUT });
      await entry.waitFor({ state: 'hidden', timeout: 1_000 });
    }
    return true;
  });
  return released.evaluate(({ yet }) => yet);
}

/** Matches this text and nothing beside it. */
function wholly(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}
