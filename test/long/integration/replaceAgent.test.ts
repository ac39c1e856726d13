/** The smaller model of a task in the place of a trained agent. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { storedConfig } from '../../../src/shared/records/storedRecipe.ts';
import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { ended, SMALLER } from '../../integration/replacedAgent.ts';
import { assertQuiet, reading, storeOf } from '../../integration/team.ts';

const VOTERS = `title: Voters
task: {name: logic, roles: 3}
adapter: {per: role, rank: 2}
steps: 0
evaluation: {instances: 2}
device: {threads: 1}
`;
const scenario = workbenchScenarios({ files: { 'voters.c3.yaml': VOTERS } });

scenario('the smaller model of a task takes the place of a trained agent', async (workbench) => {
  const before = existsSync(storeOf(workbench.folder))
    ? reading(workbench, (store) => store.runs(0, 9).map(({ id }) => id))
    : [];
  await workbench.runCommandAndPick('C3: Start C3 run', 'voters.c3.yaml', 'Default length');
  const voters = await ended(workbench, before);
  await workbench.runCommandAndPick('C3: Replace agent', /Voters/u, 'voter3');
  await workbench.page.locator('.quick-input-widget:visible').getByText(SMALLER).waitFor();
  await workbench.screenshot('replace-by-smaller');
  for (const answer of [SMALLER, 'Direct swap, then training', 'Without training']) {
    await workbench.pick(answer);
  }
  const replaced = await ended(workbench, [...before, voters]);
  const config = reading(workbench, (store) => storedConfig(store.runConfig(replaced)));
  assert.deepEqual(config['policies'], { voter3: { kind: 'model', model: 'bundled-small' } });
  assertQuiet(workbench);
});
