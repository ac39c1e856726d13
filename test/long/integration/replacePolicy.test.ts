/**
 * A run of method teamtr in the panels of a real VS Code, and a policy of its team replaced from its menu; the smaller
 * model of a task in the place of a trained policy.
 */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER } from '../../../src/domain/problem.ts';
import { readReplacement, describeSwapShock, parseStoredConfig } from '../../../src/domain/run.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { saveAs } from '../../integration/saveReport.ts';
import { assertQuiet, c3, reading, storeOf, unfold } from '../../integration/team.ts';

const VOTERS = `title: Voters
task: {name: logic, roles: 3}
adapter: {per: role, rank: 2}
steps: 0
evaluation: {instances: 2}
device: {threads: 1}
`;

const scenario = workbenchScenarios({ recording: 'chain', files: { 'voters.c3.yaml': VOTERS } });

/** The choice of a model of half the size. */
const SMALLER = 'The smaller model of the task';

/** The run that is done, other than one of before. */
function ended(workbench: Workbench, but: readonly string[]): Promise<string> {
  return eventually('the run to end', () =>
    Promise.resolve(
      existsSync(storeOf(workbench.folder))
        ? reading(
            workbench,
            (store) => store.runs(0, 9).find(({ id, status }) => !but.includes(id) && status === 'done')?.id,
          )
        : undefined,
    ),
  );
}

scenario('a run of teamtr is seen in every panel, and its policy is replaced from its menu', async (workbench) => {
  const { folder } = workbench;
  const earlier = reading(workbench, (store) => store.runs(0, 1)[0]?.id) ?? assert.fail();
  await workbench.runCommand('C3: Open run dashboard');
  const dashboard = await workbench.webview('Run dashboard');
  for (const title of [
    'Stale gap of the surrogate',
    'How far turns moved',
    'Probabilities by rank',
    'Certificate against measured improvement',
  ]) {
    const figure = dashboard.getByRole('figure', { name: title, exact: true });
    await figure.scrollIntoViewIfNeeded();
    await figure.getByRole('application').waitFor();
    assert.doesNotMatch(await figure.innerText(), /nothing|No step/u);
    if (title === 'Probabilities by rank') {
      await workbench.screenshot('teamtr-ranks');
    }
  }
  await workbench.screenshot('teamtr-dashboard');

  const question = reading(workbench, (store) => {
    const [first] = store.episodes({ run: earlier, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    return store.problem(first?.problem ?? assert.fail()).question;
  });
  const view = await workbench.openView('C3');
  await unfold(workbench.treeItem(view, 'Chain of two'));
  await unfold(workbench.treeItem(view, 'Step 1'));
  await workbench.treeItem(view, question.slice(0, 30)).first().click();
  const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
  await transcript.locator('[role="treeitem"][aria-label*="second"]').first().waitFor();
  await workbench.screenshot('teamtr-transcript');

  await seeEpisodes(workbench, earlier, question);
  await seeTaxonomy(workbench, earlier);

  await workbench.chooseOnceOffered(workbench.treeItem(view, 'Chain of two'), 'Replace policy');
  await workbench.pick('second');
  const offered = workbench.page.locator('.quick-input-widget:visible');
  await offered.getByText('Another model…').waitFor();
  // The chain task has none.
  assert.equal(await offered.getByText(SMALLER).count(), 0);
  for (const answer of ['The model without an adapter', 'Stage 0, then training', 'Without training']) {
    await workbench.pick(answer);
  }
  const replaced = await ended(workbench, [earlier]);
  const replacement = reading(workbench, (store) => readReplacement(store.runConfig(replaced))) ?? assert.fail();
  assert.deepEqual([replacement.run, replacement.role, replacement.shock?.aligned?.n], [earlier, 'second', 12]);

  // The command shows the run that the editor in front is about, which is the earlier one here.
  await workbench.answerNotification('second replaced after stage 0', 'Open run dashboard');
  const after = await workbench.webview('Run dashboard');
  const cost = after.getByRole('figure', { name: 'What replacing a policy cost', exact: true });
  await cost.getByRole('application').waitFor();
  await cost.scrollIntoViewIfNeeded();
  await workbench.screenshot('teamtr-swap');

  // The report of the one in the editor, that of the other in a browser.
  await workbench.chooseOnceOffered(workbench.treeItem(view, /Chain of two\s*4 of 4/u), 'Export report');
  await saveAs(workbench, `run-${earlier}.html`, 'teamtr.html');
  await workbench.answerNotification('The report was saved as teamtr.html', 'Open');
  const report = await workbench.webview('Report teamtr.html');
  await report.getByRole('heading', { name: 'Trust region' }).waitFor();
  for (const picture of ['How far turns moved', 'Probabilities by rank']) {
    await report.getByRole('img', { name: picture }).scrollIntoViewIfNeeded();
    await workbench.screenshot(`teamtr-report-${picture.split(' ').at(-1) ?? ''}`);
  }

  const path = join(folder, 'swap.html');
  await c3(folder, 'report', '--run', replaced, '--out', path);
  const page = await workbench.otherPage();
  await page.goto(`file://${path}`);
  await page.getByText(describeSwapShock(replacement.shock ?? assert.fail())).waitFor();
  await page.screenshot({
    path: join(import.meta.dirname, '..', '..', 'artifacts', 'screenshots', 'teamtr-report-swap.png'),
    fullPage: true,
  });
  await page.close();
  assertQuiet(workbench);
});

scenario('the smaller model of a task takes the place of a trained policy', async (workbench) => {
  const before = existsSync(storeOf(workbench.folder))
    ? reading(workbench, (store) => store.runs(0, 9).map(({ id }) => id))
    : [];
  await workbench.runCommandAndPick('C3: Start C3 run', 'voters.c3.yaml', 'Default length');
  const voters = await ended(workbench, before);
  await workbench.runCommandAndPick('C3: Replace policy', /Voters/u, 'voter3');
  await workbench.page.locator('.quick-input-widget:visible').getByText(SMALLER).waitFor();
  await workbench.screenshot('replace-by-smaller');
  for (const answer of [SMALLER, 'Direct swap, then training', 'Without training']) {
    await workbench.pick(answer);
  }
  const replaced = await ended(workbench, [...before, voters]);
  const config = reading(workbench, (store) => parseStoredConfig(store.runConfig(replaced)));
  assert.deepEqual(config['policies'], { voter3: { kind: 'model', model: 'bundled-small' } });
  assertQuiet(workbench);
});

/** The episodes of a run: all of its problems, and the one of a question with what its messages came to. */
async function seeEpisodes(workbench: Workbench, run: string, question: string): Promise<void> {
  await workbench.runCommand('C3: Open transcript');
  const panel = await workbench.webview('Episodes');
  const all = reading(
    workbench,
    (store) => store.problemIds({ run, filter: NO_PROBLEM_FILTER, sort: CLEAREST_FIRST, classes: {} }).length,
  );
  await eventually(`${all} problems`, async () =>
    new RegExp(`^${all} problems?$`, 'u').test(await panel.locator('.listed').innerText()),
  );
  await workbench.screenshot('teamtr-episodes');
  await panel.locator('.canvas .row', { hasText: question }).first().waitFor();
}

/** The failure classes of a run, each as often as on the command line. */
async function seeTaxonomy(workbench: Workbench, run: string): Promise<void> {
  const found = await c3(workbench.folder, 'taxonomy', '--run', run);
  await workbench.runCommand('C3: Inspect failure taxonomy');
  const panel = await workbench.webview('Failure taxonomy');
  await panel.getByRole('heading', { name: 'Cases' }).waitFor();
  const { classes } = found;
  assert.ok(Array.isArray(classes));
  const counts = classes.map((entry: { name: string; count: number }) => entry);
  assert.ok(
    counts.some(({ count }) => count > 0),
    'no case of any class',
  );
  for (const { name, count } of counts) {
    const row = panel
      .locator('table.classes tbody tr')
      .filter({ has: panel.getByRole('button', { name, exact: true }) });
    assert.equal(await row.locator('td.count').innerText(), String(count), name);
  }
  await workbench.screenshot('teamtr-taxonomy');
}
