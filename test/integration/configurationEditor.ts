/** What the tests of configurations do in the editor. */
import type { Locator } from 'playwright-core';
import { eventually, type Workbench } from './harness/workbench.ts';

/** A configuration with four problems. */
export const BROKEN = `title: Broken
stepz: 3
ppo:
  lerning_rate: 0.1
method: magrop
learning_rate: 1
`;

export function lens(workbench: Workbench, title: string | RegExp): Locator {
  return workbench.page.locator('.codelens-decoration a').filter({ hasText: title }).first();
}

/**
 * Follows the line above the file. Whenever an extension starts to offer such lines, the editor asks anew where each
 * leads. It gives that up where its text loses the focus meanwhile, until the text has it again.
 */
export async function followLens(workbench: Workbench, title: string): Promise<void> {
  await workbench.page.locator('.editor-instance .view-line').first().click();
  await lens(workbench, title).click();
}

export function suggestion(workbench: Workbench, label: string): Locator {
  return workbench.page.locator(`.suggest-widget.visible .monaco-list-row[aria-label^="${label}"]`).first();
}

/** The text of the editor as it is shown. */
export async function editorText(workbench: Workbench): Promise<string> {
  const lines = await workbench.page
    .locator('.editor-instance .view-line')
    .evaluateAll((elements) =>
      elements.map((element) => ({
        top: Number.parseFloat(element instanceof HTMLElement ? element.style.top : '0'),
        text: element.textContent.replaceAll('\u00a0', ' '),
      })),
    );
  return lines
    .sort((a, b) => a.top - b.top)
    .map(({ text }) => text)
    .join('\n');
}

/** Rests on a word of the editor until what it means is shown; a line that is drawn anew meanwhile shows nothing. */
export async function hoverOver(workbench: Workbench, word: RegExp, meaning: RegExp): Promise<void> {
  const hover = workbench.page.locator('.monaco-hover:visible').filter({ hasText: meaning });
  await eventually(`the meaning of ${String(word)}`, async () => {
    await workbench.page.mouse.move(700, 5);
    await workbench.page
      .locator('.editor-instance .view-line span', { hasText: word })
      .last()
      .hover({ timeout: 5_000 });
    await hover.waitFor({ timeout: 5_000 });
    return true;
  });
}

/** The rows of the Problems panel. */
export async function problems(workbench: Workbench): Promise<Locator> {
  const panel = workbench.page.locator('.markers-panel');
  await workbench.runCommand('Problems: Focus on Problems View');
  await panel.waitFor();
  return panel.locator('.monaco-list-row');
}

/**
 * Shows the values of `method` with what one of them means. The list goes with the focus, and the editor remembers
 * whether meanings were shown: the key that shows them hides them too.
 */
export async function methodsWithMeaning(workbench: Workbench): Promise<void> {
  const { keyboard } = workbench.page;
  const value = suggestion(workbench, 'c3_no_replay');
  const chosen = value.and(workbench.page.locator('.focused'));
  const details = workbench.page.locator('.suggest-details');
  const soon = (target: Locator): Promise<boolean> =>
    target.waitFor({ timeout: 1_000 }).then(
      () => true,
      () => false,
    );
  await eventually('the meaning of a suggestion', async () => {
    if (!(await value.isVisible())) {
      await keyboard.press('Control+Space');
      await value.waitFor({ timeout: 5_000 });
    }
    if (!(await chosen.isVisible())) {
      // The list goes round.
      await keyboard.press('ArrowDown');
      await chosen.waitFor({ timeout: 1_000 });
    }
    if (!(await soon(details))) {
      await keyboard.press('Control+Space');
    }
    await details.getByText('c3 without replays').waitFor({ timeout: 2_000 });
    return true;
  });
}

/** Opens the walkthrough at a step, and presses the button of that step. */
async function walkthroughStep(workbench: Workbench, title: string, action: string): Promise<void> {
  const { page } = workbench;
  await eventually(
    `the step "${title}"`,
    async () => {
      // The page that is gone back to shows all walkthroughs.
      await openWalkthrough(workbench);
      const shown = page.locator('.getting-started-step').filter({ hasText: title });
      await shown.waitFor({ timeout: 5_000 });
      if ((await shown.getAttribute('aria-expanded')) !== 'true') {
        await shown.click({ timeout: 5_000 });
      }
      await page
        .locator('.getting-started-step.expanded')
        .getByRole('button', { name: action, exact: true })
        .click({ timeout: 5_000 });
      return true;
    },
    240_000,
  );
}

/** Opens the walkthrough. */
async function openWalkthrough(workbench: Workbench): Promise<void> {
  await workbench.runCommandAndPick('Welcome: Open Walkthrough...', 'Which message decided the outcome?');
}

/**
 * Takes the five steps of the walkthrough, and ends at its page.
 * @param run whether the first one's run is started, in a folder without any; else the folder has one run
 */
export async function walkthrough(workbench: Workbench, run: boolean): Promise<void> {
  const { page } = workbench;
  const step = (title: string, action: string): Promise<void> => walkthroughStep(workbench, title, action);
  await workbench.closeAllEditors();
  await page.setViewportSize({ width: 1280, height: 900 });
  await step('Run the bundled team', 'Run the bundled team');
  if (run) {
    await workbench.pick('Quick');
    await workbench.notification('The run ended').waitFor({ timeout: 180_000 });
    await workbench.runCommand('Notifications: Clear All Notifications');
  } else {
    await page.locator('.quick-input-widget:visible .monaco-list-row', { hasText: 'Quick' }).first().waitFor();
    await page.keyboard.press('Escape');
  }
  await step('Read a transcript', 'Open transcript');
  const episodes = await workbench.webview('Episodes');
  await episodes.locator('.canvas .row:not([aria-busy])').first().waitFor();
  await episodes.getByRole('grid').press('Enter');
  await (await workbench.webview(/^(?!Episodes)/u)).locator('[role="treeitem"][aria-selected="true"]').waitFor();
  await step('See what another message would have done', 'Replay alternatives');
  // Of the message that was read: nothing is asked.
  await (await workbench.webview(/./u)).getByText('Replayed alternatives').first().waitFor({ timeout: 120_000 });
  await step('See how the team fails', 'Inspect failure taxonomy');
  await (await workbench.webview('Failure taxonomy')).getByRole('heading', { name: 'Failure taxonomy' }).waitFor();
  await step('Write your own configuration', 'New configuration');
  await lens(workbench, 'Start this run').waitFor();
  await openWalkthrough(workbench);
  await eventually('five steps', async () => (await page.locator('.getting-started-step').count()) === 5);
  await page.setViewportSize({ width: 1400, height: 900 });
}
