/** The transcript's replay form by keyboard: a typed message is replayed. */

import { FEW_REPLAYS, field, openPlan, press, requests } from './firstTranscript.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { hasFocus, retype, tabTo } from './team.ts';

const scenario = workbenchScenarios(FEW_REPLAYS);

scenario("by keyboard alone a message of one's own is written and replayed", async (workbench) => {
  const { transcript, message } = await openPlan(workbench);
  const { keyboard } = workbench.page;
  await transcript.getByRole('tree').press('Home');
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');
  await tabTo(workbench, transcript.locator('.typed > summary'));
  await keyboard.press('Enter');
  await tabTo(workbench, field(transcript, 'Your own message'));
  // It begins with what was said.
  await retype(workbench, '1+1, by hand');
  await tabTo(workbench, press(transcript, 'Replay my message'));
  await keyboard.press('Enter');
  await eventually(
    'what was written, replayed',
    () =>
      requests(workbench, message).some(({ alternatives }) =>
        alternatives.some(
          ({ finish, text, returns }) => finish === 'typed' && text === '1+1, by hand' && returns.length === 2,
        ),
      ),
    120_000,
  );
  await eventually(
    'the keyboard where the replay was started',
    () => hasFocus(press(transcript, 'Replay my message')),
    120_000,
  );
  const item = transcript
    .getByRole('region', { name: 'Replayed alternatives' })
    .first()
    .getByRole('listitem')
    .filter({ hasText: '1+1, by hand' });
  await item.getByText('typed', { exact: true }).waitFor();
});
