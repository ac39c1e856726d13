/** What a message was worth by each estimator, in its transcript. */

import assert from 'node:assert/strict';
import { estimate, FEW_REPLAYS, finished, newestRequest, openPlan } from '../../integration/firstTranscript.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';

const scenario = workbenchScenarios(FEW_REPLAYS);

scenario(
  'what a message was worth is shown side by side; what was not measured is measured by a click',
  async (workbench) => {
    const plan = await openPlan(workbench);
    const { transcript, message } = plan;
    // Where both plans of the step say the same there is nothing to compare with.
    await eventually('an estimate, or none', async () =>
      /\d\.\d\d|not measured/u.test(await estimate(transcript, 'Replace').innerText()),
    );
    await estimate(transcript, 'Remove')
      .getByText('not measured: it was not replayed with nothing in its place')
      .waitFor();
    await estimate(transcript, 'Remove').getByRole('button', { name: 'Replay the empty message' }).click();
    await eventually(
      'the empty message',
      () =>
        newestRequest(workbench, message)?.alternatives.some(
          ({ finish, text, returns }) => finish === 'typed' && text === '' && returns.length === 2,
        ),
      120_000,
    );
    await finished(workbench, plan);
    // Two returns with the message, two with nothing in its place.
    await eventually(
      'remove is measured',
      async () =>
        /\b4\b.*\b4\b/su.test(await estimate(transcript, 'Remove').innerText()) &&
        !(await estimate(transcript, 'Remove').innerText()).includes('not measured'),
    );
    assert.equal(newestRequest(workbench, message)?.continuation, null);
  },
);
