/** axe-core on every panel, filled and used: it finds nothing. */

import assert from 'node:assert/strict';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER } from '../../../src/domain/problem.ts';
import { findings } from '../../integration/axe.ts';
import { choose as chooseFor, openDashboard, seePoints } from '../../integration/dashboardPanel.ts';
import { addMadeRun, openMade } from '../../integration/dashboardStore.ts';
import { eventually, type Workbench } from '../../integration/harness/workbench.ts';
import { answerDialog } from '../../integration/modelFolder.ts';
import {
  choose,
  chooseOption,
  openFromEpisodes,
  reading,
  storeOf,
  tick,
  transcriptOf,
} from '../../integration/team.ts';
import { addRequest, addTree, problem } from '../../unit/extension/storeFixture.ts';

type Scenario = (name: string, body: (workbench: Workbench) => Promise<void>) => void;

const GOLDEN = join(import.meta.dirname, '..', '..', 'fixtures', 'golden');
const ARTIFACTS = join(import.meta.dirname, '..', '..', 'artifacts', 'accessibility');
const THEMES = ['dark', 'light', 'highContrast'] as const;
const WIDTHS = [1400, 800];
const USUAL_WIDTH = 1400;
const HEIGHT = 900;
/** Cases that show every class, and one that nobody could score. */
const TREES = [
  [
    [0, 0, 0],
    [0, 0, 0],
  ],
  [
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [1, 1, 1],
    [1, 1, 1],
  ],
  [
    [0, 0, 1],
    [1, 1, 1],
  ],
  [
    [null, null, 1],
    [null, null, null],
  ],
] as const;

/** Declares the scenarios, for a folder with the recording `arithmetic`. */
export function auditScenarios(scenario: Scenario): void {
  let question = '';
  /** Was lost, and no message of it was compared with others. */
  let lost = '';

  /** Adds a replayed message and known trees to the run, and two runs of many steps for the charts. */
  async function prepare(workbench: Workbench): Promise<void> {
    if (question !== '') {
      return;
    }
    await cp(join(GOLDEN, 'qwen3'), join(workbench.folder, 'models', 'qwen3'), { recursive: true });
    const { run, plan } = reading(workbench, (reader) => {
      const found = reader.runs(0, 1)[0]?.id ?? assert.fail('no run');
      const [episode] = reader.episodes({ run: found, phase: 'train', iteration: 1, offset: 0, limit: 1 });
      const evaluated = { ...NO_PROBLEM_FILTER, outcome: 'lost', split: 'evaluation' } as const;
      const ids = reader.problemIds({ run: found, filter: evaluated, sort: CLEAREST_FIRST, classes: {} });
      lost = reader.problems(ids).find(({ clearest }) => clearest === null)?.question ?? assert.fail('no lost episode');
      question = episode?.question.replaceAll(/\s+/gu, ' ').slice(0, 40) ?? '';
      return { run: found, plan: reader.chain(episode?.leaf ?? 0)[0]?.id ?? 0 };
    });
    const writer = openMade(storeOf(workbench.folder));
    try {
      addRequest(writer, plan, ['another plan', ''], [1, null]);
      addRequest(writer, plan, ['a third plan'], [0]);
      writer.insertSnapshot({ id: 'a'.repeat(64), run, iteration: 3, base: 'a'.repeat(64), file: null });
      for (const [index, returns] of TREES.entries()) {
        addTree(writer, { run, iteration: 3, problem: problem(index), returns });
      }
      addMadeRun(writer, { id: 'many', title: 'Many steps', seed: 1, steps: 40, accuracy: [0.5, 0.7] });
      addMadeRun(writer, {
        id: 'others',
        title: 'As many',
        method: 'magrpo',
        seed: 2,
        steps: 40,
        accuracy: [0.5, 0.6],
      });
    } finally {
      writer.close();
    }
    // So that every list knows what was written past the window.
    await workbench.openView('C3');
    await workbench.runCommand('C3: Refresh');
  }

  /**
   * Looks at one state of a panel in every theme and width, and takes pictures of it; everything found is left in the
   * artifacts.
   */
  async function audit(workbench: Workbench, name: string, panel: () => Promise<FrameLocator>): Promise<void> {
    await mkdir(ARTIFACTS, { recursive: true });
    const all: string[] = [];
    const look = async (at: string): Promise<void> => {
      for (const width of WIDTHS) {
        await workbench.page.setViewportSize({ width, height: HEIGHT });
        const found = await findings(await panel());
        const where = `${name}-${width}${at}`;
        await writeFile(join(ARTIFACTS, `${where}.json`), `${JSON.stringify(found, null, 2)}\n`);
        await workbench.screenshot(where);
        all.push(
          ...found.map(({ rule, help, places }) => `${where}: ${rule}: ${help}\n  ${places.slice(0, 5).join('\n  ')}`),
        );
      }
      await workbench.page.setViewportSize({ width: USUAL_WIDTH, height: HEIGHT });
    };
    for (const theme of THEMES) {
      await workbench.setTheme(theme);
      await look(`-${theme}`);
    }
    assert.equal(all.join('\n'), '');
  }

  async function openTranscript(workbench: Workbench): Promise<FrameLocator> {
    await prepare(workbench);
    const transcript = await transcriptOf(workbench, question);
    await transcript.locator('[role="treeitem"][aria-label^="actor"]').first().waitFor();
    return transcript;
  }

  scenario('the transcript: the tree, a replayed message with its form, and the question', async (workbench) => {
    const transcript = await openTranscript(workbench);
    await transcript.locator('[role="treeitem"][aria-label^="Question"]').click();
    await transcript.getByRole('heading', { name: 'Question' }).waitFor();
    await audit(workbench, 'transcript-question', () => openTranscript(workbench));
    await choose(transcript, 'reasoner');
    await transcript.getByRole('region', { name: 'Replayed alternatives 2' }).waitFor();
    await transcript.getByText('Try your own message').click();
    await transcript.getByText('Model input, exactly as the model saw it').click();
    await audit(workbench, 'transcript-message', () => openTranscript(workbench));
  });

  scenario('the transcript: a search with hits, a filter, a comparison, and the sheet of keys', async (workbench) => {
    const transcript = await openTranscript(workbench);
    const tree = transcript.getByRole('tree');
    const said = await transcript.locator('[role="treeitem"][aria-label^="actor"] .row-text').first().innerText();
    const word = /[\p{L}\p{N}]+/u.exec(said)?.[0] ?? '';
    await tree.press('Home');
    await tree.press('/');
    await transcript.getByRole('searchbox', { name: 'Search messages' }).pressSequentially(word);
    await transcript.locator('[role="treeitem"] mark').first().waitFor();
    await chooseOption(transcript, 'Role', 'actor', { exact: true });
    await transcript.locator('.matching', { hasText: 'messages' }).waitFor();
    for (const place of [0, 1]) {
      await transcript.locator('[role="treeitem"][aria-label^="actor"]').nth(place).click();
      await tree.press('c');
    }
    await transcript.getByRole('region', { name: 'Comparison' }).waitFor();
    await audit(workbench, 'transcript-comparison', async () => {
      const panel = await openTranscript(workbench);
      await panel.getByRole('region', { name: 'Comparison' }).waitFor();
      await panel.locator('[role="treeitem"] mark').first().waitFor();
      return panel;
    });
    await audit(workbench, 'transcript-keys', async () => {
      const panel = await openTranscript(workbench);
      const keys = panel.getByRole('dialog', { name: 'Keys of the message tree' });
      // The palette, by which a theme is chosen, closes it.
      await eventually('the sheet of keys', async () => {
        if (!(await keys.isVisible())) {
          await panel.getByRole('tree').press('?');
        }
        return keys.isVisible();
      });
      return panel;
    });
  });

  scenario('the transcript of an episode whose messages were not compared', async (workbench) => {
    await prepare(workbench);
    await openFromEpisodes(workbench, lost, 'Tiny');
    await audit(workbench, 'transcript-lost', async () => {
      const panel = await transcriptOf(workbench, lost);
      await panel.getByRole('button', { name: 'Find the message that lost it' }).waitFor();
      return panel;
    });
  });

  scenario('the dashboard: one run, then two over each other with a table and the picker open', async (workbench) => {
    await prepare(workbench);
    const dashboard = await openDashboard(workbench);
    await chooseFor(workbench, dashboard, 'Run', 'Many steps');
    await seePoints(dashboard, 'Mean return', 40);
    await audit(workbench, 'dashboard', async () => {
      await seePoints(dashboard, 'Mean return', 40);
      return dashboard;
    });
    await dashboard.getByRole('button', { name: 'Table of Mean return' }).click();
    await dashboard.locator('.picker > summary').click();
    await tick(dashboard.getByRole('checkbox', { name: /As many/u }));
    await dashboard.getByRole('list', { name: 'Runs in the charts' }).waitFor();
    await audit(workbench, 'dashboard-compared', async () => {
      await seePoints(dashboard, 'Mean return', 80);
      const runs = dashboard.getByRole('group', { name: 'Runs to compare with' });
      // The palette, by which a theme is chosen, closes the list of runs.
      await eventually('the list of runs', async () => {
        if (!(await runs.isVisible())) {
          await dashboard.locator('.picker > summary').click();
        }
        return runs.isVisible();
      });
      return dashboard;
    });
  });

  async function openTaxonomy(workbench: Workbench): Promise<FrameLocator> {
    await prepare(workbench);
    const tab = workbench.tab('Failure taxonomy');
    if ((await tab.count()) > 0) {
      await tab.click();
    } else {
      // The command takes the run of a panel in front, such as the dashboard of an earlier scenario.
      await workbench.runCommand('View: Close All Editors');
      await workbench.runCommandAndPick('C3: Inspect failure taxonomy', 'Tiny');
    }
    const taxonomy = await workbench.webview('Failure taxonomy');
    await taxonomy.getByRole('heading', { name: 'Cases' }).waitFor();
    return taxonomy;
  }

  scenario('the failure taxonomy: classes, thresholds tried, and a case with its label', async (workbench) => {
    const taxonomy = await openTaxonomy(workbench);
    await taxonomy.getByRole('spinbutton', { name: 'Misleading: best mean return below' }).fill('0.3');
    await taxonomy.getByText('Counted with misleading < 0.3').waitFor();
    const row = taxonomy.locator('.cases > li').first();
    await row.locator('button.case').click();
    await row.getByRole('region', { name: 'Your label' }).getByRole('textbox', { name: 'Note' }).fill('begun');
    await audit(workbench, 'taxonomy', () => openTaxonomy(workbench));
    await audit(workbench, 'taxonomy-case', async () => {
      const panel = await openTaxonomy(workbench);
      await panel.locator('.cases > li').first().scrollIntoViewIfNeeded();
      return panel;
    });
  });

  scenario('the model panel: what was found and what a run needs', async (workbench) => {
    await prepare(workbench);
    await workbench.runCommand('C3: Choose model folder');
    await answerDialog(workbench, join(workbench.folder, 'models', 'qwen3'));
    const open = (): Promise<FrameLocator> => workbench.webview('Model qwen3');
    const model = await open();
    await model.locator('.plan-body:not(.stale) table').waitFor();
    await audit(workbench, 'model', open);
    await model.getByRole('button', { name: 'Self-test', exact: true }).click();
    await model.getByText(/^All \d+ steps passed in/u).waitFor({ timeout: 120_000 });
    await audit(workbench, 'model-tested', open);
  });
}
