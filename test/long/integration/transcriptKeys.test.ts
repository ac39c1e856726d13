/** The transcript's sheet of keys, and by mouse what has a key. */

import { FEW_REPLAYS, openPlan, press, ROW } from '../../integration/firstTranscript.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertQuiet, hasFocus } from '../../integration/team.ts';

const scenario = workbenchScenarios(FEW_REPLAYS);

scenario('the sheet of keys opens by mouse and closes by a button; the keyboard is where it was', async (workbench) => {
  const { transcript } = await openPlan(workbench);
  const sheet = transcript.getByRole('dialog', { name: 'Keys of the message tree' });
  const open = press(transcript, 'Keys ( ? )');
  await open.click();
  await sheet.waitFor();
  await workbench.screenshot('keys-button');
  await press(transcript, 'Close').click();
  await sheet.waitFor({ state: 'hidden' });
  await eventually('the keyboard on the button', () => hasFocus(open));
  const tree = transcript.getByRole('tree');
  for (const way of ['Escape', '?', 'Enter']) {
    await tree.press('?');
    await sheet.waitFor();
    // Enter presses the button that has the keyboard: the one that closes.
    await workbench.page.keyboard.press(way);
    await sheet.waitFor({ state: 'hidden' });
    await eventually('the keyboard in the tree', () => hasFocus(tree));
  }
  assertQuiet(workbench);
});

scenario(
  'by mouse alone a message is selected to compare, compared, and its model input read token by token',
  async (workbench) => {
    const { transcript } = await openPlan(workbench);
    await transcript.locator(`${ROW}[aria-label^="actor 1 of"]`).first().click({ button: 'right' });
    await workbench.chooseFromMenu('Select to compare');
    await transcript
      .locator(`${ROW}.compared[aria-label^="actor 1 of"]`)
      .getByText('to compare', { exact: true })
      .waitFor();
    await workbench.chooseOnceOffered(
      transcript.locator(`${ROW}[aria-label^="actor 2 of"]`).first(),
      'Compare with the selected branch',
    );
    await workbench.page.locator('.monaco-diff-editor').waitFor();
    await workbench.closeEditor();
    const tokens = async (): Promise<void> => {
      const editor = workbench.page.locator('.editor-instance .monaco-editor .view-lines');
      await eventually('rows of tokens', async () =>
        /^ *0 +\d+ +([0-9a-f]{2} )+ *│.*│/mu.test((await editor.first().innerText()).replaceAll('\u00a0', ' ')),
      );
      await workbench.closeEditor();
    };
    const { transcript: again } = await openPlan(workbench);
    await again.locator(`${ROW}[aria-label^="reasoner 1 of"]`).first().click({ button: 'right' });
    await workbench.chooseFromMenu('Show model input as tokens');
    await tokens();
    const { transcript: pane } = await openPlan(workbench);
    await pane.getByText('Model input, exactly as the model saw it').click();
    await press(pane, 'Show tokens and bytes').click();
    await tokens();
    assertQuiet(workbench);
  },
);
