/** The transcript's replay form by keyboard: a request is canceled, and the keyboard stays where it is. */

import assert from 'node:assert/strict';
import { FEW_REPLAYS, field, openPlan, press, requests } from '../../integration/firstTranscript.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { hasFocus, retype, tabTo } from '../../integration/team.ts';

const scenario = workbenchScenarios(FEW_REPLAYS);

scenario(
  'the keyboard goes to Cancel with the start, stays there while progress comes, and Enter cancels',
  async (workbench) => {
    const { transcript, message } = await openPlan(workbench);
    await tabTo(workbench, field(transcript, 'Alternatives'));
    await retype(workbench, '64');
    await tabTo(workbench, field(transcript, 'Replays each'));
    await retype(workbench, '64');
    // Apart, so that equal alternatives take nothing from each other and the request lasts.
    await tabTo(workbench, transcript.getByRole('checkbox', { name: 'Common random numbers' }));
    await workbench.page.keyboard.press('Space');
    await tabTo(workbench, press(transcript, 'Replay alternatives'));
    await workbench.page.keyboard.press('Enter');
    const cancel = press(transcript, 'Cancel');
    await eventually('the keyboard on Cancel', () => hasFocus(cancel));
    await cancel.evaluate((element) => element.setAttribute('data-seen', ''));
    const words = transcript.getByText(/^\d+ of 64$/u);
    const first = await words.innerText();
    await eventually(
      'more progress, and the same button with the keyboard',
      async () =>
        (await words.innerText()) !== first &&
        (await cancel.evaluate((element) => element.hasAttribute('data-seen') && element.matches(':focus'))),
      120_000,
    );
    await workbench.page.keyboard.press('Enter');
    await transcript
      .getByText(/^Cancelled after \d+ of 64; finished replays are kept\.$/u)
      .waitFor({ timeout: 120_000 });
    await eventually('the keyboard on the start button', () => hasFocus(press(transcript, 'Replay alternatives')));
    assert.equal(await transcript.getByRole('alert').filter({ hasText: /./u }).count(), 0, 'a cancel is no failure');
    const cancelled = requests(workbench, message).at(-1);
    assert.ok(cancelled && cancelled.alternatives.length > 1);
    assert.ok(
      cancelled.alternatives.some(({ returns }) => returns.length < 64),
      'what arrived is kept',
    );
    // So does a button of an alternative whose figures change, in another request: the other text comes after all
    // replays of what equals the message.
    const lists = transcript.getByRole('region', { name: 'Replayed alternatives' });
    const before = await lists.count();
    await field(transcript, 'Replays each').fill('16');
    await press(transcript, 'Replay alternatives').press('Enter');
    await eventually('the list of the request', async () => (await lists.count()) > before);
    const item = lists.first().getByRole('listitem').nth(1);
    const show = item.getByRole('button', { name: 'show' });
    await show.focus();
    const figures = await item.locator('.figures').innerText();
    await eventually('other figures', async () => (await item.locator('.figures').innerText()) !== figures, 120_000);
    assert.ok(await hasFocus(show), 'the keyboard stays on the button of an alternative');
    await workbench.screenshot('replay-cancel');
    // It may end by itself just now.
    await cancel.click({ timeout: 5_000 }).catch(() => undefined);
    await eventually('the end of the request', async () => !(await cancel.isVisible()), 120_000);
    assert.deepEqual(
      requests(workbench, message)
        .find(({ id }) => id === cancelled.id)
        ?.alternatives.map(({ returns }) => returns),
      cancelled.alternatives.map(({ returns }) => returns),
      'nothing comes after a cancel',
    );
  },
);
