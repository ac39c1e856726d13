/** From a lost episode to the message that lost it, in one sentence. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertQuiet, openFromEpisodes, paneReady, reading, transcriptOf } from '../../integration/team.ts';

const ANSWER =
  /lost it: the chance of success fell from \d+ %|rarely solves this problem \(\d+ %|Undecided between|lost it together/u;

const scenario = workbenchScenarios({ recording: 'arithmetic' });

scenario('the search says what lost an episode, and its pairs are in the tree', async (workbench) => {
  const { leaf, question, run } = reading(workbench, (store) => {
    const [newest] = store.runs(0, 1);
    const episodes = store.episodes({ run: newest?.id ?? '', phase: 'train', iteration: 1, offset: 0, limit: 100 });
    return episodes.find((one) => one.return === 0) ?? assert.fail('no lost episode');
  });
  const requests = (): number => reading(workbench, (store) => store.countBuckets({ run, origin: 'request' }));
  await openFromEpisodes(workbench, question);
  const transcript = await transcriptOf(workbench, question);
  await transcript.locator('[role="treeitem"][aria-label*="; return 0;"]').first().click();
  await paneReady(transcript);
  const before = requests();
  await workbench.runCommand('C3: Find the message that lost it');
  await workbench.notification(ANSWER).waitFor();
  await workbench.screenshot('blame');
  assert.ok(requests() > before, `pairs about episode ${leaf} are stored`);
  // What was replayed shows below the messages of the episode.
  await eventually('the replays in the tree', async () =>
    /\d+ replays? in \d+ requests?/u.test(await transcript.getByRole('tree').innerText()),
  );
  assertQuiet(workbench);
});

scenario('a message is kept as a test, checked in the Test Explorer, and found again from there', async (workbench) => {
  const { page, folder } = workbench;
  await workbench.runCommand('C3: Keep as test');
  await workbench.notification(/Kept as the test findings/u).waitFor();
  const [kept = ''] = readdirSync(join(folder, 'findings'));
  assert.match(kept, /^\w+-\d+\.finding\.yaml$/u);
  await workbench.runCommand('Test: Run All Tests');
  await workbench.runCommand('Testing: Focus on Test Explorer View');
  const row = page.locator('.test-explorer .monaco-list-row', { hasText: kept.replace('.finding.yaml', '') });
  await row.filter({ hasText: /Held: the chance from here/u }).waitFor();
  assert.equal(await row.locator('.computed-state.codicon-testing-passed-icon').count(), 1);
  await workbench.screenshot('finding');
  // A test that does not do what it expects says what that is.
  const file = join(folder, 'findings', kept);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('expect: held', 'expect: fixed'));
  await workbench.runCommand('Test: Run All Tests');
  await row.filter({ hasText: /Expected: fixed\. Held: the chance from here/u }).waitFor();
  writeFileSync(file, text);
  await workbench.runCommand('Test: Rerun Failed Tests');
  await row.filter({ hasText: /-\d+Held: /u }).waitFor();
  await row.hover();
  const go = row.getByRole('button', { name: 'Go to the message of a test' });
  // An icon, which leaves room for the name of the test.
  assert.equal(await go.innerText(), '');
  await go.click();
  const said = /\d+/u.exec(kept)?.[0] ?? '';
  const question = reading(workbench, (store) => store.problem(store.message(Number(said)).problem).question);
  const transcript = await transcriptOf(workbench, question);
  await transcript.locator('[role="treeitem"][aria-selected="true"]').waitFor();
  assertQuiet(workbench);
});
