/** Comparing episodes, sifting and reading contexts in the transcript panel, by keyboard and by mouse. */

import assert from 'node:assert/strict';
import { firstEpisode, openFirst, ROW } from '../../integration/firstTranscript.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertQuiet, chooseOption, unfold } from '../../integration/team.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

scenario('episodes are compared from the side bar by their context menus', async (workbench) => {
  const episode = firstEpisode(workbench);
  const view = await workbench.openView('C3');
  await unfold(workbench.treeItem(view, 'Tiny'));
  await unfold(workbench.treeItem(view, 'Step 1'));
  const rows = view.getByRole('treeitem').filter({ hasText: episode.question.slice(0, 30) });
  await rows.nth(0).click({ button: 'right' });
  await workbench.chooseFromMenu('Select to compare');
  await workbench.chooseOnceOffered(rows.nth(1), 'Compare with the selected branch');
  await workbench.page.locator('.monaco-diff-editor').waitFor();
  await workbench.closeEditor();
});

scenario('the context of a message is in an editor token by token', async (workbench) => {
  const { transcript, episode } = await openFirst(workbench);
  await transcript.locator(`${ROW}[aria-label^="reasoner 1 of 2"]`).first().click();
  await transcript.getByRole('tree').press('t');
  const editor = workbench.page.locator('.editor-instance .monaco-editor .view-lines');
  await eventually('rows of tokens', async () =>
    /^ *0 +\d+ +([0-9a-f]{2} )+ *│.*│/mu.test((await editor.first().innerText()).replaceAll('\u00a0', ' ')),
  );
  const words = (await editor.first().innerText()).replaceAll('\u00a0', ' ');
  assert.ok(words.includes(`${Buffer.byteLength(episode.plans[0]?.context ?? '')} bytes`), words.slice(0, 300));
  assert.ok(!words.includes('has changed') && !words.includes('do not join'), words.slice(0, 600));
  await workbench.screenshot('context-tokens');
  await workbench.closeEditor();
});

scenario(
  'F goes to the filters; what was folded is folded still when a filter is cleared, and the keyboard stays at its row',
  async (workbench) => {
    const { transcript } = await openFirst(workbench);
    const tree = transcript.getByRole('tree');
    await tree.press('Home');
    await tree.press('ArrowDown');
    await tree.press('ArrowLeft');
    await transcript.locator(`${ROW}.active[aria-expanded="false"][aria-label^="reasoner 1 of 2"]`).waitFor();
    await tree.press('End');
    await transcript.locator(`${ROW}.active[aria-label^="actor 2 of 2"]`).waitFor();
    await tree.press('f');
    const role = transcript.getByRole('combobox', { name: 'Role' });
    await eventually('the keyboard in the filters', () =>
      role.evaluate((element) => element === element.ownerDocument.activeElement),
    );
    await role.press('r');
    await transcript.getByText('2 of 6 messages').waitFor();
    await transcript.locator(`${ROW}.active[aria-label^="reasoner 2 of 2"]`).waitFor();
    await role.press('Home');
    await eventually('all but what is folded', async () => (await transcript.getByRole('treeitem').count()) === 5);
    await role.press('Escape');
    await eventually('the keyboard in the tree', () =>
      tree.evaluate((element) => element === element.ownerDocument.activeElement),
    );
    await transcript.locator(`${ROW}.active[aria-label^="reasoner 2 of 2"]`).waitFor();
    await tree.press('ArrowUp');
    await tree.press('ArrowRight');
    await eventually('every row', async () => (await transcript.getByRole('treeitem').count()) === 7);
  },
);

scenario('the map of the protocol filters for a role, and filters leave what matches', async (workbench) => {
  const { transcript } = await openFirst(workbench);
  const map = transcript.getByRole('group', { name: 'Protocol' });
  await map.getByRole('button', { name: /^reasoner/u }).click();
  await eventually('the plans alone', async () => (await transcript.getByRole('treeitem').count()) === 3);
  await transcript.getByText('2 of 6 messages').waitFor();
  await workbench.screenshot('filter');
  await chooseOption(transcript, 'Role', 'actor', { exact: true });
  await eventually('the answers with their plans', async () => (await transcript.getByRole('treeitem').count()) === 7);
  await transcript.getByText('4 of 6 messages').waitFor();
  await chooseOption(transcript, 'Label or failure class', 'Class: Misleading Plan', { exact: true });
  // One that has to wait for the engine gives way to what is asked for meanwhile.
  await transcript.getByRole('button', { name: 'Clear filters' }).click();
  await eventually(
    'all rows',
    async () =>
      (await transcript.getByRole('treeitem').count()) === 7 &&
      (await transcript.locator('.matching').innerText()) === '',
  );
});

scenario('letters go to the row that begins so, and the sheet of keys names every key', async (workbench) => {
  const { transcript } = await openFirst(workbench);
  const tree = transcript.getByRole('tree');
  await tree.press('Home');
  // At once: after a pause a letter begins a new word, and C compares.
  await tree.evaluate((element) => {
    for (const key of 'ac') {
      element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    }
  });
  await transcript.locator(`${ROW}.active[aria-label^="actor 1 of 2"]`).waitFor();
  await tree.press('Home');
  await tree.press('Shift+R');
  await transcript.locator(`${ROW}.active[aria-label^="reasoner 1 of 2"]`).waitFor();
  await tree.press('?');
  const sheet = transcript.getByRole('dialog', { name: 'Keys of the message tree' });
  await sheet.getByText('Search the messages').waitFor();
  await workbench.screenshot('keys');
  await workbench.page.keyboard.press('Escape');
  assertQuiet(workbench);
});
