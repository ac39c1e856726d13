/**
 * The episodes panel: a run's problems by mouse and by keyboard, filtered, saved, searched, after a reload, while the
 * run grows, and as text whatever they say.
 */
import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import type { FrameLocator, Locator } from 'playwright-core';
import type { Interval, RunSummary } from '../../src/shared/records/records.ts';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER } from '../../src/shared/records/problems.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addRun, addTree, instance, LEDGER, METRICS, RUN } from '../unit/extension/storeFixture.ts';
import { headline, setHeadlines } from '../support/headlines.ts';
import { findings } from './axe.ts';
import { eventually, SCREENS, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, frameOf, hasFocus, reloadWindow, storeOf, TINY } from './team.ts';

const HOSTILE =
  '<img src="https://c3-canary.invalid/a.png" onerror="globalThis.c3Canary=1"> [x](command:c3.startRun) $(trash) \u202eesrever\u202c \u001b[31mred';
const QUESTIONS = ['A farmer has 12 hens and buys 7 more', 'Half of a cake of 8 pieces', 'Trains leave at noon'];
const LONG = ' and so on, in words that no row of a list has room for,';

const scenario = workbenchScenarios({ files: { 'tiny.c3.yaml': TINY } });

/** Forty problems over three steps, evaluated before and after those that are not trained on; one of them hostile. */
function fill(workbench: Workbench): void {
  const writer = openStoreForWriting(storeOf(workbench.folder));
  try {
    addRun(writer);
    addRun(writer, 'older', '2020-01-01T00:00:00.000Z');
    const problem = (number: number): ReturnType<typeof instance> => {
      const question =
        number === 7
          ? `Problem 7: ${HOSTILE}`
          : `Problem ${String(number)}: ${QUESTIONS[number % 3] ?? ''}${LONG.repeat(4)} how many are there?`;
      return { ...instance(number), question, source: number % 2 === 0 ? 'even' : 'odd', level: number % 5 };
    };
    for (let number = 30; number < 40; number++) {
      addTree(writer, { phase: 'evaluate', iteration: 1, instance: problem(number), returns: [[number % 2]] });
    }
    for (let step = 1; step <= 3; step++) {
      writer.insertStep({ run: RUN, iteration: step, snapshot: 'a'.repeat(64), ledger: LEDGER });
      for (let number = 0; number < 30; number++) {
        const trees = addTree(writer, {
          iteration: step,
          instance: problem(number),
          returns: [
            [(number + step) % 2, 1],
            [0, number % 3 === 0 ? 0 : step > 1 ? 1 : 0],
          ],
          words: (plan, actor) =>
            actor === null ? `plan ${String(plan)} of ${String(number)}` : `answer ${String(number)}`,
        });
        const plan = trees[1]?.plan ?? 0;
        const value = (number - 15) / 16;
        setHeadlines(writer.path, [
          {
            message: plan,
            credit: headline(value, { low: Math.max(-1, value - 0.3), high: Math.min(1, value + 0.3) }),
          },
        ]);
      }
      writer.finishStep(RUN, step, METRICS, LEDGER);
    }
    for (let number = 30; number < 40; number++) {
      addTree(writer, {
        phase: 'evaluate',
        iteration: 3,
        instance: problem(number),
        returns: [[number % 4 === 0 ? 0 : 1]],
      });
    }
    writer.updateRunStatus(RUN, 'done', '2026-01-03T00:00:00.000Z', null);
    writer.updateRunStatus('older', 'done', '2020-01-03T00:00:00.000Z', null);
  } finally {
    writer.close();
  }
}

/** The panel with its list as an earlier scenario left it. */
async function openPanel(workbench: Workbench): Promise<FrameLocator> {
  const tab = workbench.tab('Episodes');
  if ((await tab.count()) > 0) {
    await tab.click();
  } else {
    await workbench.runCommand('C3: Open episodes');
  }
  const panel = await workbench.webview('Episodes');
  await panel.locator('.listed', { hasText: /problems?$/u }).waitFor();
  return panel;
}

/** The panel with all problems, whatever an earlier scenario searched or filtered. */
async function openGrid(workbench: Workbench): Promise<FrameLocator> {
  const panel = await openPanel(workbench);
  const clear = panel.getByRole('button', { name: 'Clear', exact: true });
  // What is filtered by is drawn with the list.
  if (await clear.isVisible()) {
    await clear.click();
  }
  await panel.locator('.listed', { hasText: /^\d+ problems$/u }).waitFor();
  return panel;
}

const rows = (panel: FrameLocator): Locator => panel.locator('.canvas > .row');
const row = (panel: FrameLocator, place: number): Locator =>
  panel.locator(`.canvas > .row[aria-rowindex="${String(place + 1)}"]`);
const selected = (panel: FrameLocator): Locator => panel.locator('.canvas > .row[aria-selected="true"]');
const heading = (panel: FrameLocator, name: string): Locator =>
  panel.getByRole('columnheader', { name, exact: true }).getByRole('button');
const listed = (panel: FrameLocator, words: string): Promise<void> =>
  panel.locator('.listed').getByText(words, { exact: true }).waitFor();

scenario('a click on a run opens its episodes and keeps its steps open in the list', async (workbench) => {
  await workbench.openView('C3');
  fill(workbench);
  await workbench.runCommand('C3: Refresh');
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, `Run ${RUN}`).click();
  const panel = await workbench.webview('Episodes');
  await listed(panel, '40 problems');
  await workbench.treeItem(view, 'Step 1').waitFor();
  // The clearest are first: a bound that is farthest from 0, whatever its sign.
  await eventually('the clearest problem first', async () =>
    /hurt/u.test((await row(panel, 1).locator('.cell-credit').getAttribute('aria-label')) ?? ''),
  );
  assert.match(
    (await row(panel, 1).locator('.cell-credit').getAttribute('aria-label')) ?? '',
    /^reasoner, credit −0\.94 \[−1\.00, −0\.64\], n = 4, hurt: plan 1 of 0$/u,
  );
  assert.match(
    (await row(panel, 1).locator('.cell-outcome').getAttribute('aria-label')) ?? '',
    /^Step 1: 0\.50 \(4\)\nStep 2: 0\.25 \(4\)\nStep 3: 0\.50 \(4\)$/u,
  );
  await workbench.pictures('episodes', ['light', 'dark'], SCREENS);
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
});

scenario(
  'by keyboard alone: rows, pages, the whole question, the heads, and the transcript at the clearest message',
  async (workbench) => {
    const panel = await openGrid(workbench);
    const { page } = workbench;
    const grid = panel.getByRole('grid', { name: 'Problems of the run' });
    await grid.focus();
    await page.keyboard.press('Home');
    await eventually('the first row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '2');
    await page.keyboard.press('ArrowDown');
    await eventually('the second row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '3');
    await page.keyboard.press('End');
    await eventually('the last row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '41');
    assert.equal(await grid.getAttribute('aria-activedescendant'), await selected(panel).getAttribute('id'));
    await page.keyboard.press('PageUp');
    await page.keyboard.press('Home');
    await eventually('the whole question below', async () =>
      (await panel.getByLabel('The whole question').innerText()).endsWith('how many are there?'),
    );
    // To the heads, two to the left of the one that is sorted by, and back.
    await page.keyboard.press('s');
    await eventually('the head that is sorted by', () => hasFocus(heading(panel, 'Clearest credit')));
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await panel
      .getByRole('columnheader', { name: 'Return', exact: true, includeHidden: false })
      .and(panel.locator('[aria-sort="ascending"]'))
      .waitFor();
    await page.keyboard.press('Escape');
    await eventually('the keyboard in the grid', () => hasFocus(grid));
    await page.keyboard.press('?');
    await panel.getByRole('dialog', { name: 'Keys of the grid' }).waitFor();
    await page.keyboard.press('Escape');
    await heading(panel, 'Clearest credit').click();
    await eventually(
      'the clearest first',
      async () =>
        (await row(panel, 1).locator('.cell-credit').getAttribute('aria-label'))?.includes('plan 1 of 0') ?? false,
    );
    await grid.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    const transcript = await workbench.webview(/^Problem 0/u);
    await transcript.locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner 2 of 2"]').waitFor();
  },
);

scenario('Enter right after a search opens what the search finds, not what was listed before', async (workbench) => {
  for (const number of [21, 22]) {
    const field = (await openPanel(workbench)).getByRole('searchbox', {
      name: 'Search questions, messages and metadata',
    });
    await field.fill(`"Problem ${String(number)}:"`);
    await field.press('Enter');
    await workbench.page.keyboard.press('Enter');
    await workbench.webview(new RegExp(`^Problem ${String(number)}:`, 'u'));
  }
  const panel = await openPanel(workbench);
  await listed(panel, '1 of 40 problems');
  await panel.getByRole('searchbox', { name: 'Search questions, messages and metadata' }).press('Escape');
  await listed(panel, '40 problems');
});

scenario(
  'words typed into the search are kept when the keyboard leaves it and a list comes before they were asked for',
  async (workbench) => {
    const panel = await openGrid(workbench);
    const field = panel.getByRole('searchbox', { name: 'Search questions, messages and metadata' });
    await field.evaluate((element) => {
      const input = element as HTMLInputElement;
      input.focus();
      input.value = 'question:"Problem 12:"';
      input.dispatchEvent(new Event('input'));
      input.blur();
      window.dispatchEvent(
        new MessageEvent('message', { data: { type: 'classes', classes: { state: 'none', reason: null, names: [] } } }),
      );
    });
    await listed(panel, '1 of 40 problems');
    assert.equal(await field.inputValue(), 'question:"Problem 12:"');
    await field.press('Escape');
    await listed(panel, '40 problems');
  },
);

scenario(
  'a list is counted when its rows are drawn, and a click on a row that it displaces selects the problem clicked',
  async (workbench) => {
    const panel = await openGrid(workbench);
    await row(panel, 1).click();
    await eventually('the first row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '2');
    const clicked = await row(panel, 5).locator('.cell-question').getAttribute('aria-label');
    // A layout of which the host knows nothing: its rows never come.
    const said = await panel.locator('.listed').evaluate(
      (element, layout) => {
        window.dispatchEvent(new MessageEvent('message', { data: { type: 'layout', layout } }));
        return element.textContent;
      },
      {
        revision: 1_000_000,
        rows: 2,
        facets: { total: 40, trained: 30, evaluated: 10, roles: [] },
        filter: NO_PROBLEM_FILTER,
        sort: CLEAREST_FIRST,
        active: null,
        top: null,
        of: null,
        milliseconds: 0,
      },
    );
    assert.equal(said, '40 problems');
    await row(panel, 5).click();
    await eventually(
      'the problem that was clicked',
      async () => (await selected(panel).locator('.cell-question').getAttribute('aria-label')) === clicked,
    );
    await listed(panel, '40 problems');
  },
);

scenario(
  'a change of the store that changes no run leaves the rows of the side bar as they are drawn',
  async (workbench) => {
    const view = await workbench.openView('C3');
    const buckets = await workbench.openView('C3', 'Buckets');
    await workbench.treeItem(view, 'Step 1').waitFor();
    await buckets.getByRole('treeitem').first().waitFor();
    // The editor makes the buttons of a row anew whenever it draws the row.
    const buttons = '.monaco-list-row .actions .action-label';
    const drawnBefore = `${buttons}[data-drawn="before"]`;
    for (const body of [view, buckets]) {
      await eventually('rows with buttons', async () => (await body.locator(buttons).count()) > 2);
    }
    // An earlier scenario may have changed runs just before.
    await eventually('the buckets alone to be drawn anew', async () => {
      for (const body of [view, buckets]) {
        await body.locator(buttons).evaluateAll((found) => {
          for (const element of found) {
            element.setAttribute('data-drawn', 'before');
          }
        });
      }
      const before = await view.locator(drawnBefore).count();
      const now = new Date();
      await utimes(storeOf(workbench.folder), now, now);
      await eventually('the buckets to be drawn anew', async () => (await buckets.locator(drawnBefore).count()) === 0);
      assert.equal(await view.locator(drawnBefore).count(), before);
      return true;
    });
  },
);

scenario(
  'filters, a search and a saved filter stay over a reload with the row that was selected',
  async (workbench) => {
    const panel = await openGrid(workbench);
    const { page } = workbench;
    await panel.getByRole('combobox', { name: 'Split' }).selectOption('evaluation');
    await listed(panel, '10 of 40 problems');
    await panel.getByRole('combobox', { name: 'Outcome' }).selectOption('changed');
    await eventually('those whose outcome changed', async () =>
      /^[1-9] of 40/u.test(await panel.locator('.listed').innerText()),
    );
    await panel.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(panel, '40 problems');
    await panel.getByRole('combobox', { name: 'Verdict of the clearest credit' }).selectOption('hurt');
    await panel.getByRole('grid').press('/');
    const field = panel.getByRole('searchbox', { name: 'Search questions, messages and metadata' });
    await field.fill('source:even hens');
    await eventually('the problems found', async () =>
      /^[1-4] of 40 problems$/u.test(await panel.locator('.listed').innerText()),
    );
    await field.press('Enter');
    await eventually('the keyboard in the grid', () => hasFocus(panel.getByRole('grid')));
    await panel.getByRole('button', { name: 'Save', exact: true }).click();
    await workbench.answer('Hurt hens');
    await eventually(
      'the saved filter',
      async () => (await panel.getByRole('combobox', { name: 'Saved filters' }).inputValue()) === 'Hurt hens',
    );
    await panel.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(panel, '40 problems');
    await panel.getByRole('combobox', { name: 'Saved filters' }).selectOption('Hurt hens');
    await eventually('the search of the saved filter', async () => (await field.inputValue()) === 'source:even hens');
    await eventually('the problems of the saved filter', async () =>
      /^[1-4] of 40 problems$/u.test(await panel.locator('.listed').innerText()),
    );
    await row(panel, 2).click();
    // The place is kept as the row is drawn as selected.
    await eventually('the second row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '3');
    const before = await row(panel, 2).locator('.cell-question').getAttribute('aria-label');
    const words = await panel.locator('.listed').innerText();
    await reloadWindow(workbench);
    const again = await workbench.webview('Episodes');
    await listed(again, words);
    await eventually(
      'the row that was selected',
      async () => (await selected(again).locator('.cell-question').getAttribute('aria-label')) === before,
    );
    await page.keyboard.press('Escape');
    await again.getByRole('button', { name: 'Delete', exact: true }).click();
    await eventually(
      'no saved filter',
      async () => !(await again.getByRole('combobox', { name: 'Saved filters' }).isVisible()),
    );
    await again.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(again, '40 problems');
    // Words of messages lead to their problems, too.
    await again.getByRole('searchbox').fill('message:"plan 0 of 11"');
    await listed(again, '1 of 40 problems');
    await again.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(again, '40 problems');
  },
);

scenario('a question is text whatever it says', async (workbench) => {
  const panel = await openGrid(workbench);
  await panel.getByRole('searchbox').fill('canary');
  await listed(panel, '1 of 40 problems');
  const question = row(panel, 1).locator('.cell-question');
  assert.ok((await question.textContent())?.includes('<img src="https://c3-canary.invalid'));
  assert.ok((await question.textContent())?.includes('⟨U+202E⟩esrever⟨U+202C⟩'));
  await row(panel, 1).click();
  await eventually(
    'the whole question',
    async () => (await panel.getByLabel('The whole question').textContent())?.includes('onerror') ?? false,
  );
  const frame = await frameOf(panel);
  assert.equal(await frame.evaluate('globalThis.c3Canary'), undefined);
  assert.equal(await frame.evaluate('document.querySelectorAll("#app :is(img, script, a[href], iframe)").length'), 0);
  await workbench.screenshot('episodes-hostile');
  await panel.getByRole('button', { name: 'Clear', exact: true }).click();
  await listed(panel, '40 problems');
  assertQuiet(workbench);
});

scenario('a growing run updates the rows and leaves the reader where he is', async (workbench) => {
  const panel = await openGrid(workbench);
  await heading(panel, '#').click();
  await panel.locator('[role="columnheader"][aria-sort="ascending"].cell-appearance').waitFor();
  const grid = panel.getByRole('grid');
  await grid.focus();
  await workbench.page.keyboard.press('End');
  await eventually('the last row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '41');
  const before = await selected(panel).locator('.cell-question').getAttribute('aria-label');
  const top = await grid.evaluate((element) => element.scrollTop);
  const writer = openStoreForWriting(storeOf(workbench.folder));
  writer.insertStep({ run: RUN, iteration: 4, snapshot: 'a'.repeat(64), ledger: LEDGER });
  addTree(writer, { iteration: 4, instance: { ...instance(77), question: 'A new problem' }, returns: [[1, 0]] });
  writer.finishStep(RUN, 4, METRICS, LEDGER);
  writer.close();
  await listed(panel, '41 problems');
  await eventually('the reader where he was', async () => {
    assert.equal(await selected(panel).locator('.cell-question').getAttribute('aria-label'), before);
    assert.equal(await grid.evaluate((element) => element.scrollTop), top);
    return true;
  });
  await heading(panel, 'Clearest credit').click();
});

scenario('a command that needs an episode opens the panel and says what to do', async (workbench) => {
  await workbench.closeAllEditors();
  await workbench.runCommand('C3: Open transcript');
  const panel = await workbench.webview('Episodes');
  await panel.getByText('Choose a problem: Enter opens its transcript at the clearest message.').waitFor();
  await eventually('the keyboard in the grid', () => hasFocus(panel.getByRole('grid')));
  await workbench.runCommand('C3: Replay alternatives');
  await panel.getByText('press R on the message to replay in its transcript').waitFor();
});

scenario('axe-core finds nothing serious in dark, light and high contrast, wide and narrow', async (workbench) => {
  const panel = await openGrid(workbench);
  const grave: string[] = [];
  for (const theme of ['dark', 'light', 'highContrast'] as const) {
    await workbench.setTheme(theme);
    for (const width of [1400, 800]) {
      await workbench.page.setViewportSize({ width, height: 900 });
      // A selected row has another background while the keyboard is elsewhere.
      for (const keyboard of ['grid', 'searchbox'] as const) {
        await panel.getByRole(keyboard).focus();
        const serious = (await findings(panel)).filter(({ impact }) => ['serious', 'critical'].includes(impact));
        grave.push(
          ...serious.map(
            ({ rule, places }) =>
              `${theme} ${String(width)}, ${keyboard}: ${rule}\n  ${places.slice(0, 5).join('\n  ')}`,
          ),
        );
      }
    }
    await workbench.screenshot('episodes-narrow', theme);
  }
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
  assert.equal(grave.join('\n'), '');
  await eventually('rows', async () => (await rows(panel).count()) > 10);
});

/** Two more runs that differ in two settings. */
function addRuns(workbench: Workbench): void {
  const writer = openStoreForWriting(storeOf(workbench.folder));
  try {
    const summary = (run: string, after: number): RunSummary => {
      const interval = (value: number): Interval => ({ value, low: value - 0.05, high: value + 0.05, n: 200 });
      const compared = { before: interval(0.4), after: interval(after), difference: interval(after - 0.4) };
      return {
        run,
        method: 'c3',
        seed: 1,
        steps: 3,
        evaluatorCalls: 96,
        tokens: { prompt: 1000, reused: 400, completion: 300 },
        decisions: {},
        seconds: 12.5,
        store: '',
        accuracy: compared,
        passAt1: compared,
      };
    };
    for (const [id, rate, title] of [
      ['slow', 1e-4, 'A low rate'],
      ['fast', 1e-3, `A high rate ${HOSTILE}`],
    ] as const) {
      writer.insertRun({
        id,
        method: 'c3',
        seed: 1,
        title,
        config: JSON.stringify({
          config: { learning_rate: rate, fanout: [2, 4], sampling: { temperature: 1 }, kl: id === 'slow' ? 0 : 0.1 },
        }),
        plannedSteps: 3,
        createdAt: '2025-01-01T00:00:00.000Z',
      });
      writer.updateRunStatus(id, 'done', '2025-01-02T00:00:00.000Z', summary(id, id === 'slow' ? 0.5 : 0.7));
    }
  } finally {
    writer.close();
  }
}

scenario(
  'the runs table shows the settings in which runs differ, sorts by outcomes, and chooses what the dashboard compares',
  async (workbench) => {
    addRuns(workbench);
    await workbench.runCommand('C3: Refresh');
    await workbench.runCommand('C3: Open runs table');
    const panel = await workbench.webview('Runs table');
    await panel.getByText(/^4 runs, \d+ settings differ$/u).waitFor();
    const head = (name: string): Locator => panel.getByRole('columnheader', { name, exact: true });
    await head('learning_rate').waitFor();
    assert.equal(await head('sampling.temperature').count(), 1, 'set in two runs of four');
    await panel.getByRole('searchbox').fill('rate');
    await panel.getByText(/^2 of 4 runs/u).waitFor();
    await head('Accuracy after').getByRole('button').click();
    const titles = (): Promise<string[]> => panel.locator('tbody .column-title').allInnerTexts();
    await eventually(
      'the more accurate first',
      async () => (await titles())[0]?.startsWith('A high rate <img') ?? false,
    );
    await head('Accuracy after').getByRole('button').click();
    await eventually('the less accurate first', async () => (await titles())[0] === 'A low rate');
    await panel.getByRole('checkbox', { name: 'Compare A low rate' }).check();
    await panel.getByRole('checkbox', { name: /^Compare A high rate/u }).press(' ');
    await panel.getByText('2 selected', { exact: true }).waitFor();
    await workbench.pictures('runs-table', ['light', 'dark'], SCREENS);
    await workbench.page.setViewportSize({ width: 1400, height: 900 });
    assert.deepEqual(
      (await findings(panel)).filter(({ impact }) => ['serious', 'critical'].includes(impact)),
      [],
    );
    const frame = await frameOf(panel);
    assert.equal(await frame.evaluate('document.querySelectorAll("#app :is(img, script, a[href], iframe)").length'), 0);
    await reloadWindow(workbench);
    const again = await workbench.webview('Runs table');
    await again.getByText('2 selected', { exact: true }).waitFor();
    await eventually('its search', async () => (await again.getByRole('searchbox').inputValue()) === 'rate');
    await again.getByRole('button', { name: 'Compare in dashboard' }).click();
    const dashboard = await workbench.webview('Run dashboard');
    await dashboard.getByRole('list', { name: 'Runs in the charts' }).getByText('A high rate').waitFor();
    await workbench.tab('Runs table').click();
    const table = await workbench.webview('Runs table');
    await table
      .getByRole('button', { name: 'Open the episodes of A low rate' })
      .or(table.getByText('A low rate', { exact: true }))
      .first()
      .click();
    await (await workbench.webview('Episodes')).getByText('The run has no episodes yet.').waitFor();
    assertQuiet(workbench);
  },
);

scenario('the engine classifies the problems of a run, which then sort and filter by class', async (workbench) => {
  await c3(workbench.folder, 'run', 'tiny.c3.yaml');
  await workbench.closeAllEditors();
  await workbench.runCommand('C3: Refresh');
  const panel = await openGrid(workbench);
  const chooser = panel.getByRole('combobox', { name: 'Run', exact: true });
  const run = await eventually(
    'the run that was made',
    async () => (await chooser.locator('option', { hasText: 'Tiny' }).first().getAttribute('value')) ?? undefined,
  );
  await chooser.selectOption(run);
  await panel.getByRole('combobox', { name: 'Split' }).selectOption('train');
  await eventually('its problems', async () => / of /u.test(await panel.locator('.listed').innerText()));
  const cells = panel.locator('.canvas .cell-class');
  await eventually('no class yet', async () => (await cells.first().getAttribute('aria-label')) === 'not classified');
  await panel.getByRole('button', { name: 'Classify', exact: true }).click();
  await panel.getByRole('button', { name: 'Classify', exact: true }).waitFor({ state: 'hidden', timeout: 120_000 });
  await eventually(
    'a class for every problem',
    async () =>
      (await cells.count()) > 0 &&
      (await cells.evaluateAll((all) => all.every((cell) => cell.getAttribute('aria-label') !== 'not classified'))),
  );
  const name = (await cells.first().getAttribute('aria-label')) ?? '';
  await panel.getByRole('combobox', { name: 'Taxonomy class' }).selectOption(name);
  await eventually(
    'problems of this class only',
    async () =>
      (await cells.count()) > 0 &&
      (await cells.evaluateAll((all, wanted) => all.every((cell) => cell.getAttribute('aria-label') === wanted), name)),
  );
  assertQuiet(workbench);
});
