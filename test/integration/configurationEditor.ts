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
