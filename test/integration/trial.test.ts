/** "Try a change" in a real VS Code: from the command by way of a prompt's tab to what is kept on the disk. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { followLens } from './configurationEditor.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, reading } from './team.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

/** Puts a text in the place of what the editor in front has. */
async function write({ page }: Workbench, text: string): Promise<void> {
  await page.locator('.editor-instance .view-line').first().click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
}

scenario('a prompt is tried, its flipped pairs are compared, and it is kept as it was written', async (workbench) => {
  const { page, folder } = workbench;
  const file = join(folder, 'tiny.c3.yaml');
  const before = `# Mine.\n${readFileSync(file, 'utf8')}# The end.\n`;
  writeFileSync(file, before);
  const stored = reading(workbench, (store) => store.counts());

  // A server elsewhere answers for a role only once its cost was agreed to.
  await workbench.runCommandAndPick('C3: Try a change', 'reasoner', 'Server');
  const asked = page.locator('.quick-input-widget:visible');
  await asked.filter({ hasText: '(3 of 5)' }).waitFor();
  await page.keyboard.type('api.example.com');
  await asked.getByText('The address must be an address such as').waitFor();
  await asked.locator('input.input').fill('https://c3.invalid/v1');
  await page.keyboard.press('Enter');
  await asked.filter({ hasText: '(4 of 5)' }).waitFor();
  await page.keyboard.type('team');
  await page.keyboard.press('Enter');
  await asked.filter({ hasText: '(5 of 5)' }).waitFor();
  await page.keyboard.type('2,');
  await asked.getByText('Two prices, such as 2, 8, or nothing.').waitFor();
  await page.keyboard.type(' 8');
  await page.keyboard.press('Enter');
  const costs = page.locator('.monaco-dialog-box').filter({ hasText: 'Try the change with the help of servers?' });
  const cost = /At most [\d,]+ requests to the endpoint of the role reasoner, [\d,]+ tokens and [\d.]+ of money;/u;
  await costs.getByText(cost).waitFor();
  await workbench.screenshot('trial-server');
  await page.keyboard.press('Escape');
  await costs.waitFor({ state: 'hidden' });

  await workbench.runCommandAndPick('C3: Try a change', 'reasoner', 'Prompt');
  await workbench.tab('prompt of reasoner').waitFor();
  await page.locator('.codelens-decoration a').filter({ hasText: 'Try this prompt' }).waitFor();
  await workbench.screenshot('trial-prompt');

  // What cannot be tried is said before anything starts.
  await workbench.runCommand('C3: Try this prompt');
  await workbench.notification(/is the same as in the run/u).waitFor();
  await write(workbench, 'Plan {nobody} well.');
  await workbench.runCommand('C3: Try this prompt');
  await workbench.notification(/has \{nobody\}, for which nothing is put in/u).waitFor();
  await workbench.runCommand('Notifications: Clear All Notifications');

  await write(workbench, 'Say the sum.\nOnly digits.');
  await followLens(workbench, 'Try this prompt');
  const panel = await workbench.webview('Trial');
  const heading = panel.getByRole('heading', { level: 1 });
  await heading.waitFor();
  assert.match(await heading.innerText(), /^(?:The change (?:helps|harms)|Undecided): .* pairs\. \d+ calls\.$/u);
  assert.deepEqual(
    reading(workbench, (store) => store.counts()),
    stored,
  );
  await workbench.screenshot('trial');

  // A pair that flipped, by keyboard.
  const flipped = panel.getByRole('region', { name: /^(?:Won|Lost) by the change$/u }).getByRole('button');
  await flipped.first().press('Enter');
  await page.locator('.editor-instance .diff-editor, .monaco-diff-editor').first().waitFor();
  await page.getByText('──── reasoner').first().waitFor();
  await workbench.screenshot('trial-pair');
  await workbench.closeEditor();

  await (await workbench.webview('Trial')).getByRole('button', { name: 'Keep', exact: true }).press('Enter');
  const chosen = page.locator('.quick-input-widget:visible .monaco-list-row', { hasText: 'tiny.c3.yaml' });
  await chosen.filter({ hasText: 'what the run used' }).waitFor();
  await workbench.screenshot('trial-keep');
  await page.keyboard.press('Enter');
  await workbench.notification('The change is kept in tiny.c3.yaml.').waitFor();
  const after = readFileSync(file, 'utf8');
  assert.equal(after, `${before}prompts:\n  reasoner: |-\n    Say the sum.\n    Only digits.\n`);
  assert.deepEqual(parse(after), { ...parse(before), prompts: { reasoner: 'Say the sum.\nOnly digits.' } });
  await workbench.screenshot('trial-kept');
  await workbench.tab('Trial').click();
  await (await workbench.webview('Trial')).getByText('Kept in tiny.c3.yaml.').waitFor();

  // The prompt as it was written is there again, to be changed further.
  await (await workbench.webview('Trial')).getByRole('button', { name: 'Edit the prompt' }).press('Enter');
  await eventually('the prompt', async () =>
    /Only\sdigits/u.test(await page.locator('.editor-instance:visible').first().innerText()),
  );
  assertQuiet(workbench);
});
