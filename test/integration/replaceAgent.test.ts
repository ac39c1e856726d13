/** A run of method teamtr in the panels of a real VS Code, and an agent of its team replaced from its menu. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { replacementOf, shockWords } from '../../src/shared/records/replacement.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { saveAs } from './saveReport.ts';
import { assertQuiet, c3, reading, storeOf, unfold } from './team.ts';

const CHAIN = `title: Chain of two
method: teamtr
task: {name: chain, roles: 2, levels: [1]}
adapter: {per: role, rank: 2}
teamtr: {diagnostics: true, rank_shifts: true, delta: 0.02}
steps: 4
instances_per_step: 6
evaluator_budget: 8
evaluation: {instances: 12, before: false}
ppo: {learning_rate: 0.003}
device: {threads: 1}
`;
const scenario = workbenchScenarios({ files: { 'chain.c3.yaml': CHAIN } });

scenario(
  'a run of teamtr is started, seen in every panel, and its agent is replaced from its menu',
  async (workbench) => {
    const { folder } = workbench;
    const ended = (but?: string): Promise<string> =>
      eventually('the run to end', () =>
        Promise.resolve(
          existsSync(storeOf(folder))
            ? reading(
                workbench,
                (store) => store.runs(0, 5).find(({ id, status }) => id !== but && status === 'done')?.id,
              )
            : undefined,
        ),
      );
    await workbench.runCommandAndPick('C3: Start C3 run', 'chain.c3.yaml', 'Default length');
    const earlier = await ended();
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
        await workbench.screenshot('teamtr-ranks', 'light');
      }
    }
    await workbench.screenshot('teamtr-dashboard', 'light');

    const question = reading(workbench, (store) => {
      const [first] = store.episodes({ run: earlier, phase: 'train', iteration: 1, offset: 0, limit: 1 });
      return store.instance(first?.instance ?? assert.fail()).question;
    });
    const view = await workbench.openView('C3');
    await unfold(workbench.treeItem(view, 'Chain of two'));
    await unfold(workbench.treeItem(view, 'Step 1'));
    await workbench.treeItem(view, question.slice(0, 30)).first().click();
    const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
    await transcript.locator('[role="treeitem"][aria-label*="second"]').first().waitFor();
    await workbench.screenshot('teamtr-transcript');

    await workbench.treeItem(view, 'Chain of two').click({ button: 'right' });
    await workbench.chooseFromMenu('Replace agent');
    for (const answer of ['second', 'The model without an adapter', 'Stage 0, then training', 'Without training']) {
      await workbench.pick(answer);
    }
    const replaced = await ended(earlier);
    const replacement = reading(workbench, (store) => replacementOf(store.runConfig(replaced))) ?? assert.fail();
    assert.deepEqual([replacement.run, replacement.role, replacement.shock?.aligned?.n], [earlier, 'second', 12]);

    await workbench.runCommand('C3: Open run dashboard');
    const after = await workbench.webview('Run dashboard');
    const cost = after.getByRole('figure', { name: 'What replacing an agent cost', exact: true });
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
      await workbench.screenshot(`teamtr-report-${picture.split(' ').at(-1) ?? ''}`, 'light');
    }

    const path = join(folder, 'swap.html');
    await c3(folder, 'report', '--run', replaced, '--out', path);
    const page = await workbench.otherPage();
    await page.goto(`file://${path}`);
    await page.getByText(shockWords(replacement.shock ?? assert.fail())).waitFor();
    await page.screenshot({
      path: join(import.meta.dirname, '..', 'artifacts', 'screenshots', 'teamtr-report-swap.png'),
      fullPage: true,
    });
    await page.close();
    assertQuiet(workbench);
  },
);
