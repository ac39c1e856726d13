/**
 * "Try a change" in a real VS Code: a number of the decoding, a change that no configuration says, and one that an open
 * editor with other changes takes. With the panel in all themes and sizes.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findings } from '../../integration/axe.ts';
import { eventually, SCREENS, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertQuiet } from '../../integration/team.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

scenario(
  'a number that cannot be is refused where it is typed, and a change is left in an open editor',
  async (workbench) => {
    const { page, folder } = workbench;
    await workbench.openFile('tiny.c3.yaml');
    await page.locator('.editor-instance .view-line').first().click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.insertText('# Not saved.\n');
    const file = join(folder, 'tiny.c3.yaml');
    const before = readFileSync(file, 'utf8');

    await workbench.runCommandAndPick('C3: Try a change', 'The whole team', 'Longest message');
    const box = page.locator('.quick-input-widget:visible');
    await box.locator('input.input').fill('0');
    await box.getByText('max_new_tokens is a whole number from 1 to 100000.').waitFor();
    await workbench.screenshot('trial-number');
    await workbench.answer('1');
    const panel = await workbench.webview('Trial');
    const harms = panel.getByRole('heading', { level: 1, name: /^The change harms: / });
    await harms.waitFor();
    assert.deepEqual(await findings(panel), []);
    // The more frequent pairs first: this change loses more than it wins.
    const [first] = await panel.locator('.trial-flips > section').all();
    assert.equal(await first?.getAttribute('aria-label'), 'Lost by the change');
    await workbench.pictures('trial', ['light', 'highContrast', 'dark'], SCREENS);
    // An answer of this team has a limit of its own, which no configuration changes.
    await panel.getByRole('button', { name: 'Keep', exact: true }).press('Enter');
    await workbench.notification(/own max_new_tokens for reasoner, actor/u).waitFor();
    await workbench.runCommand('Notifications: Clear All Notifications');

    await workbench.runCommandAndPick('C3: Try a change', 'The whole team', 'Temperature');
    await workbench.answer('10');
    await panel.getByText('Run Tiny: temperature 10').waitFor();
    await harms.waitFor();
    await panel.getByRole('button', { name: 'Keep', exact: true }).press('Enter');
    await workbench.pick('tiny.c3.yaml');
    await workbench.notification('The change is kept in tiny.c3.yaml, which is not saved yet.').waitFor();
    assert.equal(readFileSync(file, 'utf8'), before);
    await workbench.runCommand('File: Save');
    await eventually('the saved file', () => readFileSync(file, 'utf8') !== before);
    assert.equal(readFileSync(file, 'utf8'), `# Not saved.\n${before}sampling:\n  temperature: 10\n`);
    // The file is another one now; a new configuration is still what the run used.
    await workbench.tab('Trial').click();
    await (await workbench.webview('Trial')).getByRole('button', { name: 'Keep', exact: true }).press('Enter');
    const offered = page.locator('.quick-input-widget:visible .monaco-list-row');
    await offered.filter({ hasText: /tiny\.c3\.yaml.*differs from what the run used in sampling/u }).waitFor();
    await offered.filter({ hasText: /A new configuration….*what the run used, with the change/u }).waitFor();
    await page.keyboard.press('Escape');

    // The same change, on the problems that the last evaluation lost alone.
    await (await workbench.webview('Trial')).getByRole('button', { name: 'Try on lost problems' }).press('Enter');
    const onLost = await workbench.webview('Trial');
    await onLost.getByText('Run Tiny: temperature 10, on the problems that its last evaluation lost').waitFor();
    assert.equal(await onLost.getByRole('button', { name: 'Try on lost problems' }).count(), 0);
    await workbench.screenshot('trial-lost');
    assertQuiet(workbench);
  },
);
