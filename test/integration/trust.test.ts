/** A folder that the user does not trust: what is stored can be read, and nothing runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addRun, addTree, instance, LEDGER, RUN } from '../unit/extension/storeFixture.ts';
import { makeEndless } from '../support/endlessStore.ts';
import { Workbench } from './harness/workbench.ts';
import { storeOf, unfold } from './team.ts';

test(
  'an untrusted folder shows its runs, and says why nothing can be run or replayed',
  { timeout: 900_000 },
  async () => {
    const workbench = await Workbench.open({ server: { askForTrust: true } });
    try {
      const writer = openStoreForWriting(storeOf(workbench.folder));
      addRun(writer);
      writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
      addTree(writer, { iteration: 1, instance: instance(1), returns: [[1, 0]] });
      writer.close();
      await workbench.statusBarItem('Restricted Mode').waitFor();
      const view = await workbench.openView('C3');
      await unfold(workbench.treeItem(view, `Run ${RUN}`));
      await unfold(workbench.treeItem(view, 'Step 1'));
      await workbench.treeItem(view, 'Question 1').click();
      const transcript = await workbench.webview(/^Question 1/u);
      await transcript.getByText('Runs and replays require a trusted workspace').waitFor();
      assert.equal(await transcript.getByRole('button', { name: 'Replay alternatives' }).count(), 0);
      await workbench.searchPalette('>C3: ', 'C3: Open transcript');
      assert.equal(
        await workbench.page
          .locator('.quick-input-widget .monaco-list-row', { hasText: /C3: (Start|Replay|Inspect|Check)/u })
          .count(),
        0,
      );
    } catch (error) {
      await workbench.saveFailure('untrusted folder');
      throw error;
    } finally {
      await workbench.close();
    }
  },
);

for (const { folder, askForTrust, words } of [
  { folder: 'an untrusted folder', askForTrust: true, words: 'This folder is not trusted, and its store is damaged' },
  { folder: 'a trusted folder', askForTrust: false, words: 'is damaged, so it is not opened' },
]) {
  test(
    `${folder} with a store made to keep its reader busy says so, and the editor stays awake`,
    { timeout: 900_000 },
    async () => {
      const workbench = await Workbench.open({ server: { askForTrust } });
      try {
        const writer = openStoreForWriting(storeOf(workbench.folder));
        addRun(writer);
        writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
        writer.close();
        makeEndless(storeOf(workbench.folder));
        if (askForTrust) {
          await workbench.statusBarItem('Restricted Mode').waitFor();
        }
        const view = await workbench.openView('C3');
        await view.getByText(words).or(workbench.page.getByText(words)).first().waitFor();
        // The process of the extension still answers, and a panel that reads says the same.
        await workbench.runCommand('C3: Refresh');
        assert.equal(await workbench.treeItem(view, `Run ${RUN}`).count(), 0);
        await workbench.runCommand('C3: Open run dashboard');
        const dashboard = await workbench.webview('Run dashboard');
        await dashboard.getByText(words).or(workbench.notification(words)).first().waitFor();
      } catch (error) {
        await workbench.saveFailure('endless store');
        throw error;
      } finally {
        await workbench.close();
      }
    },
  );
}
