/**
 * The run dashboard in a real VS Code: long runs, comparing, reading by keyboard, holding still, tables and copies, the
 * way to episodes.
 */
import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import { decimal } from '../../src/shared/text/figures.ts';
import type { StoreWriter } from '../../src/store/write/writer.ts';
import { addMadeRun, addMadeStep, openMade } from './dashboardStore.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { quantile, roundNumbers } from './storeNumbers.ts';
import { assertQuiet, c3, chooseOption, hasFocus, reading, reloadWindow, storeOf, tabTo, TINY } from './team.ts';

const STEPS = 2000;
const HOSTILE = 'Leave-one-out <img src=x onerror=alert(1)> \u202Etxt.exe';

const count = (value: number): string => value.toLocaleString('en');

const scenario = workbenchScenarios({ files: { 'tiny.c3.yaml': TINY } });

async function withStore(workbench: Workbench, work: (store: StoreWriter) => void | Promise<void>): Promise<void> {
  const store = openMade(storeOf(workbench.folder));
  try {
    await work(store);
  } finally {
    store.close();
  }
}

function figure(dashboard: FrameLocator, title: string): Locator {
  return dashboard.getByRole('figure', { name: title, exact: true });
}

function chart(dashboard: FrameLocator, title: string): Locator {
  return figure(dashboard, title).getByRole('application');
}

async function choose(workbench: Workbench, dashboard: FrameLocator, title: string): Promise<void> {
  // Away from what shows a hover over the page.
  await workbench.page.mouse.move(700, 5);
  await chooseOption(dashboard, 'Run', title);
}

/** What was said to who cannot see. */
async function heard(dashboard: FrameLocator, words: RegExp): Promise<string> {
  return eventually(`${String(words)} said`, async () => {
    const said = await dashboard.locator('[aria-live="polite"]').innerText();
    return words.test(said) ? said : undefined;
  });
}

scenario(
  'a run of 2,000 steps is drawn at once, read by keyboard without delay, and whole in its table and copy',
  async (workbench) => {
    await withStore(workbench, (store) => {
      addMadeRun(store, { id: 'long', title: 'Long run', seed: 1, steps: STEPS, accuracy: [0.5, 0.72] });
      addMadeRun(store, {
        id: 'full',
        title: 'Full mean, as long',
        method: 'c3_full_mean',
        seed: 2,
        steps: STEPS,
        accuracy: [0.5, 0.66],
      });
      addMadeRun(store, { id: 'short', title: HOSTILE, method: 'magrpo', seed: 3, steps: 40, accuracy: [0.51, 0.58] });
      addMadeRun(store, { id: 'none', title: 'As it is', method: 'sft', seed: 4, steps: 0, accuracy: [0.5, 0.5] });
    });
    await workbench.openView('C3');
    await workbench.runCommand('C3: Open run dashboard');
    const dashboard = await workbench.webview('Run dashboard');
    await choose(workbench, dashboard, 'Long run');
    const frame = chart(dashboard, 'Mean return');
    await eventually('all points', async () => (await frame.getAttribute('aria-label'))?.includes('2000 points'));

    await frame.focus();
    await workbench.page.keyboard.press('End');
    await heard(dashboard, /^step 2,000, mean return 0\.\d+, episodes 4$/u);
    await workbench.page.keyboard.press('ArrowLeft');
    await heard(dashboard, /^step 1,999, /u);
    await workbench.page.keyboard.press('Home');
    await heard(dashboard, /^step 1, /u);
    for (let press = 0; press < 30; press++) {
      await workbench.page.keyboard.press('ArrowRight');
    }
    await heard(dashboard, /^step 31, /u);

    await dashboard.getByRole('button', { name: 'Table of Training credit of reasoner' }).click();
    const rows = dashboard.getByRole('table', { name: 'Training credit of reasoner' }).locator('tbody tr');
    await eventually('all rows', async () => (await rows.count()) === STEPS);
    await dashboard.getByRole('button', { name: 'Table of Training credit of reasoner' }).click();

    await workbench.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await dashboard.getByRole('button', { name: 'Copy Evaluator calls per step as CSV' }).click();
    await workbench.confirm('Copy');
    await heard(dashboard, /2000 rows copied as CSV/u);
    const lines = await eventually('the copy', async () => {
      const text = (await workbench.page.evaluate(() => navigator.clipboard.readText())).split(/\r?\n/u);
      return text[0] === 'Step,Evaluator calls' ? text : undefined;
    });
    assert.deepEqual([lines.length, lines[1], lines[STEPS]], [STEPS + 2, '1,4', '2000,4']);
    await workbench.page.setViewportSize({ width: 1280, height: 900 });
    await workbench.screenshot('dashboard-long');
    assertQuiet(workbench);
  },
);

scenario(
  'runs are laid over each other, distinguished without colour, and come back after a reload',
  async (workbench) => {
    const dashboard = await workbench.webview('Run dashboard');
    await dashboard.getByText('Compare runs').click();
    await dashboard.getByRole('checkbox', { name: /Full mean/u }).check();
    await dashboard.getByRole('checkbox', { name: /Leave-one-out/u }).check();
    await dashboard.getByText('Compared with 2 runs').waitFor();
    await workbench.screenshot('dashboard-picker');
    await workbench.page.keyboard.press('Escape');
    const legend = dashboard.getByRole('list', { name: 'Runs in the charts' });
    await eventually('three runs in the legend', async () => (await legend.getByRole('listitem').count()) === 3);
    assert.ok((await legend.innerText()).includes('<img src=x onerror=alert(1)>'), 'a title is text');
    await eventually('all points of three runs', async () =>
      (await chart(dashboard, 'Mean return').getAttribute('aria-label'))?.includes('4040 points'),
    );
    await chart(dashboard, 'KL to the starting policy').focus();
    await workbench.page.keyboard.press('End');
    await heard(dashboard, /^A, step 2,000, KL /u);
    await workbench.page.keyboard.press('ArrowDown');
    await heard(dashboard, /^B, step 2,000, KL /u);
    await dashboard.getByRole('button', { name: 'Table of Held-out accuracy, greedy' }).click();
    await eventually('the accuracies of three runs', async () => {
      const cells = await dashboard
        .getByRole('table', { name: 'Held-out accuracy, greedy' })
        .locator('tbody tr')
        .allInnerTexts();
      assert.deepEqual(
        cells.map((text) => text.split('\t').slice(1, 4).join(' ')),
        [
          'before 0 50.0 %',
          'after 2,000 72.0 %',
          'before 0 50.0 %',
          'after 2,000 66.0 %',
          'before 0 51.0 %',
          'after 40 58.0 %',
        ],
      );
      return true;
    });
    await chart(dashboard, 'Accuracy against cost: unknown task').focus();
    await workbench.page.keyboard.press('Home');
    await heard(
      dashboard,
      /^As it is, sft, seed 4, 50\.0 % \[44\.0, 56\.0\], n = 200, 0 tokens, on the Pareto front$/u,
    );
    const sizes = [
      [1280, 900],
      [800, 900],
    ] as const;
    await workbench.pictures('dashboard-compare', ['light', 'highContrast', 'dark'], sizes, () =>
      legend.scrollIntoViewIfNeeded(),
    );
    await workbench.page.setViewportSize({ width: 1280, height: 900 });
    const scrolled = (shown: FrameLocator): Promise<number> =>
      shown.locator('html').evaluate((page) => Math.round(page.scrollTop));
    await chart(dashboard, 'KL to the starting policy').scrollIntoViewIfNeeded();
    const place = await scrolled(dashboard);
    assert.ok(place > 100);
    // A place is kept once scrolling rests, or the keyboard leaves the panel; here the page has heard of the scrolling.
    await dashboard.locator('html').evaluate(
      () =>
        new Promise((drawn) => {
          requestAnimationFrame(() => requestAnimationFrame(drawn));
        }),
    );
    await reloadWindow(workbench);
    const again = await workbench.webview('Run dashboard');
    await eventually('the place scrolled to', async () => Math.abs((await scrolled(again)) - place) <= 2);
    await eventually(
      'the same three runs',
      async () => (await again.getByRole('list', { name: 'Runs in the charts' }).getByRole('listitem').count()) === 3,
    );
    await again.getByRole('table', { name: 'Held-out accuracy, greedy' }).waitFor();
    assertQuiet(workbench);
  },
);

scenario(
  'a point leads to its step in the side bar and on to its episodes, by keyboard and by mouse',
  async (workbench) => {
    const view = await workbench.openView('C3');
    const dashboard = await workbench.webview('Run dashboard');
    const frame = chart(dashboard, 'Mean return');
    await eventually('all points', async () => (await frame.getAttribute('aria-label'))?.includes('4040 points'));
    await frame.focus();
    await workbench.page.keyboard.press('Home');
    for (let press = 0; press < 15; press++) {
      await workbench.page.keyboard.press('PageDown');
    }
    await heard(dashboard, /^A, step 151, /u);
    await workbench.page.keyboard.press('Enter');
    await workbench.treeItem(view, 'Step 151').and(view.locator('[aria-selected="true"], .selected')).waitFor();
    await eventually(
      'four episodes below it',
      async () => (await view.getByRole('treeitem', { name: /^return [01]: How many is 12/u }).count()) === 4,
    );
    // The focus is in the side bar: on to the first episode.
    await eventually('the keyboard in the side bar', () =>
      view.evaluate((list) => list.contains(list.ownerDocument.activeElement)),
    );
    await workbench.page.keyboard.press('ArrowDown');
    await view.locator('.monaco-list-row.focused').filter({ hasText: 'How many is 12' }).waitFor();
    await workbench.page.keyboard.press('Enter');
    const transcript = await workbench.webview(/Transcript|How many/u);
    await transcript.getByRole('treeitem').first().waitFor();
    await workbench.screenshot('dashboard-to-episode');

    await workbench.runCommand('C3: Open run dashboard');
    const shown = await workbench.webview('Run dashboard');
    await choose(workbench, shown, 'Leave-one-out');
    const accuracy = chart(shown, 'Held-out accuracy, greedy');
    await eventually('its points', async () => (await accuracy.getAttribute('aria-label'))?.includes('points'));
    await shown.getByRole('button', { name: 'Table of Mean return' }).click();
    const rows = shown.getByRole('table', { name: 'Mean return' });
    await rows.getByRole('button', { name: '7', exact: true }).first().click();
    await workbench.treeItem(view, 'Step 7').waitFor();

    // A filter of the Runs view that hides the run goes, and that is said.
    await workbench.runCommandAndAnswer('C3: Filter runs', 'nothing like it');
    await view.getByText('No runs match the filter').waitFor();
    await rows.getByRole('button', { name: '9', exact: true }).first().click();
    await workbench.treeItem(view, 'Step 9').and(view.locator('[aria-selected="true"], .selected')).waitFor();
    await workbench.statusBarItem('The filter of the Runs view was cleared').waitFor();
  },
);

scenario(
  'a live view holds still while it is read and while it is paused, and says how many steps wait',
  async (workbench) => {
    await withStore(workbench, async (store) => {
      addMadeRun(store, { id: 'live', title: 'Live run', seed: 6, steps: 5, planned: 60 });
      await workbench.runCommand('C3: Open run dashboard');
      let dashboard = await workbench.webview('Run dashboard');
      await choose(workbench, dashboard, 'Live run');
      // Runs that were laid over another before are taken off, whichever they are.
      await eventually('one run alone', async () => {
        const others = dashboard.getByRole('button', { name: /^Remove run .$/u });
        if ((await others.count()) > 0) {
          await others.first().click({ timeout: 1_000 });
        }
        return (await others.count()) === 0;
      });
      let frame = chart(dashboard, 'Mean return');
      const points = async (number: number): Promise<void> => {
        await eventually(`${String(number)} points`, async () =>
          (await frame.getAttribute('aria-label'))?.includes(` ${String(number)} points`),
        );
      };
      await points(5);
      let step = 5;
      const goOn = (): void => {
        store.transaction(() => {
          addMadeStep(store, 'live', 6, ++step, 60);
        });
      };
      goOn();
      await points(6);

      await frame.focus();
      goOn();
      goOn();
      await dashboard.getByText('2 steps waiting', { exact: true }).waitFor();
      await points(6);
      await workbench.screenshot('dashboard-waiting');
      await dashboard.getByRole('button', { name: 'Pause' }).focus();
      await points(8);

      await dashboard.getByRole('button', { name: 'Pause' }).click();
      goOn();
      await dashboard.getByText('Paused, 1 step waiting').waitFor();
      await points(8);
      await dashboard.getByRole('button', { name: 'Continue' }).click();
      await points(9);

      // Hidden while it is paused: it comes back as it was, and what came meanwhile waits.
      await dashboard.getByRole('button', { name: 'Pause' }).click();
      await workbench.openFile('tiny.c3.yaml');
      goOn();
      goOn();
      await workbench.tab('Run dashboard').click();
      dashboard = await workbench.webview('Run dashboard');
      frame = chart(dashboard, 'Mean return');
      await dashboard.getByText('Paused, 2 steps waiting').waitFor();
      await points(9);
      await dashboard.getByRole('button', { name: 'Continue' }).click();
      await points(11);

      await eventually('the figures under the pointer', async () => {
        await workbench.page.mouse.move(700, 5);
        await frame.hover();
        await dashboard.locator('.tip', { hasText: /^step \d/u }).waitFor({ timeout: 5_000 });
        return true;
      });
      goOn();
      await dashboard.getByText('1 step waiting', { exact: true }).waitFor();
      await dashboard.getByText('Compare runs').hover();
      await points(12);
    });
  },
);

scenario('a chart is copied as a picture with its title on the background of the theme', async (workbench) => {
  const dashboard = await workbench.webview('Run dashboard');
  await choose(workbench, dashboard, 'Leave-one-out');
  await eventually('its points', async () =>
    (await chart(dashboard, 'Mean return').getAttribute('aria-label'))?.includes(' 40 points'),
  );
  for (const theme of ['light', 'highContrast', 'dark'] as const) {
    await workbench.setTheme(theme);
    await figure(dashboard, 'Variance of training credit within a context').scrollIntoViewIfNeeded();
    await workbench.screenshot(`dashboard-boxes-${theme}`);
  }
  await dashboard.getByRole('button', { name: 'Copy Mean return as PNG' }).click();
  await heard(dashboard, /Mean return: copied as PNG/u);
  const size = await workbench.page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    const bitmap = item === undefined ? null : await createImageBitmap(await item.getType('image/png'));
    if (bitmap === null) {
      return null;
    }
    const canvas = document.createElement('canvas');
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    const context = canvas.getContext('2d');
    context?.drawImage(bitmap, 0, 0);
    const pixels = context?.getImageData(0, 0, bitmap.width, bitmap.height).data ?? [];
    const colours = new Set<string>();
    for (let index = 0; index < pixels.length; index += 4) {
      colours.add(
        `${String(pixels[index])},${String(pixels[index + 1])},${String(pixels[index + 2])},${String(pixels[index + 3])}`,
      );
    }
    return { width: bitmap.width, height: bitmap.height, corner: [...pixels.slice(0, 4)], colours: colours.size };
  });
  assert.ok(size !== null && size.width > 600 && size.height > 400, JSON.stringify(size));
  assert.deepEqual(size.corner, [31, 31, 31, 255], 'the editor background of Dark Modern');
  assert.ok(size.colours > 20, 'something is drawn on it');
});

scenario('the numbers are those of c3 diagnose for the same run', async (workbench) => {
  await workbench.closeAllEditors();
  // A diagnosis compares the alternatives of one bucket, whatever a step compared them with.
  const { run } = await c3(workbench.folder, 'run', 'tiny.c3.yaml', '--override', 'credit.merge_contexts=false');
  const diagnosis = await c3(workbench.folder, 'diagnose', '--run', String(run));
  await workbench.runCommand('C3: Open run dashboard');
  const dashboard = await workbench.webview('Run dashboard');
  await choose(workbench, dashboard, 'Tiny');
  // Until they are those of this run, figures and tables are those of the one before.
  await eventually('its points', async () =>
    (await chart(dashboard, 'Mean return').getAttribute('aria-label'))?.includes(' 2 points'),
  );
  const table = async (title: string): Promise<readonly (readonly string[])[]> => {
    const button = dashboard.getByRole('button', { name: `Table of ${title}`, exact: true });
    if ((await button.getAttribute('aria-expanded')) !== 'true') {
      await button.click();
    }
    return eventually(`rows of ${title}`, async () => {
      const rows = await dashboard.getByRole('table', { name: title, exact: true }).locator('tbody tr').allInnerTexts();
      return rows.length >= 2 ? rows.map((text) => text.split('\t')) : undefined;
    });
  };
  const nested = JSON.parse(JSON.stringify(diagnosis)) as {
    accuracy: { greedy: { value: number; low: number; high: number; n: number } };
    variance: { value: number; n: number };
    ledger: {
      evaluatorCalls: number;
      reusedEvaluations: number;
      tokens: { prompt: number; reused: number; completion: number; reusedCompletion: number };
      decisions: Record<string, number>;
    };
  };
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const { greedy } = nested.accuracy;
  assert.deepEqual((await table('Held-out accuracy, greedy')).at(-1), [
    'after',
    '2',
    percent(greedy.value),
    percent(greedy.low),
    percent(greedy.high),
    String(greedy.n),
  ]);
  const variances = await table('Variance of training credit within a context');
  const contexts = variances.map((cells) => Number(cells[2]));
  const mean =
    variances.reduce((sum, cells, index) => sum + Number(cells[1]) * (contexts[index] ?? 0), 0) /
    contexts.reduce((sum, n) => sum + n, 0);
  assert.equal(
    contexts.reduce((sum, n) => sum + n, 0),
    nested.variance.n,
  );
  assert.ok(Math.abs(mean - nested.variance.value) < 1e-4);

  const { ledger } = nested;
  const cost = (await dashboard.getByRole('table', { name: 'Cost' }).locator('tbody tr').allInnerTexts()).map(
    (line) => line.split('\t')[1],
  );
  assert.deepEqual(cost.slice(0, 3), [
    `${count(ledger.evaluatorCalls)}${ledger.reusedEvaluations === 0 ? '' : `, ${count(ledger.reusedEvaluations)} more reused from equal messages`}`,
    `${count(ledger.tokens.prompt)} prompt, ${count(ledger.tokens.reused)} of them reused; ${count(ledger.tokens.completion)} completion${ledger.tokens.reusedCompletion === 0 ? '' : `, ${count(ledger.tokens.reusedCompletion)} more reused from equal requests`}`,
    Object.entries(ledger.decisions)
      .map(([role, number]) => `${role} ${count(number)}`)
      .join(', '),
  ]);
  // Message by message from the store: charts read the ledgers of the steps.
  const { steps, evaluations, metrics } = reading(workbench, (store) => ({
    steps: [1, 2].map((iteration) => roundNumbers(store, String(run), 'train', iteration)),
    evaluations: [1, 2, 3, 4].map((iteration) => roundNumbers(store, String(run), 'evaluate', iteration)),
    metrics: store.steps(String(run), 0, 10).map((step) => step.metrics),
  }));
  const total = (of: (round: (typeof steps)[number]) => number): number =>
    [...steps, ...evaluations].reduce((sum, round) => sum + of(round), 0);
  assert.deepEqual(
    {
      prompt: total(({ prompt }) => prompt),
      reused: total(({ reused }) => reused),
      completion: total(({ completion }) => completion),
      reusedCompletion: total(({ reusedCompletion }) => reusedCompletion),
    },
    ledger.tokens,
    'all messages together cost what c3 diagnose says',
  );
  assert.deepEqual(
    (await table('Evaluator calls per step')).map((cells) => cells[1]),
    steps.map(({ calls }) => count(calls)),
  );
  assert.ok(
    steps.every(({ calls }) => calls > 0 && calls <= 8),
    'eight were asked for',
  );
  const byStep = (cells: readonly (readonly number[])[], write: (value: number) => string = count): string[][] =>
    cells.map((row, step) => [String(step + 1), ...row.map(write)]);
  assert.deepEqual(
    await table('Tokens per step'),
    byStep(steps.map(({ prompt, reused, completion }) => [prompt + completion, prompt, reused, completion])),
  );
  assert.deepEqual(
    await table('Prefix reuse'),
    steps.map(({ prompt, reused }, step) => [String(step + 1), percent(reused / prompt), count(reused), count(prompt)]),
  );
  assert.ok(steps.some(({ reused }) => reused > 0));
  assert.deepEqual(
    await table('KL to the starting policy'),
    byStep(
      metrics.map((step) => [step?.kl ?? NaN]),
      (value) => decimal(value, 5),
    ),
  );
  assert.deepEqual(
    await table('Clip fraction'),
    byStep(
      metrics.map((step) => [step?.clipFraction ?? NaN]),
      (value) => decimal(value, 4),
    ),
  );
  for (const role of ['reasoner', 'actor']) {
    const expected = steps.map(({ credits }, step) => {
      const values = credits.get(role) ?? [];
      return [
        String(step + 1),
        ...[0.5, 0.25, 0.75, 0, 1].map((share) => decimal(quantile(values, share), 3)),
        count(values.length),
      ];
    });
    assert.deepEqual(await table(`Training credit of ${role}`), expected, role);
    assert.equal(expected[0]?.at(-1), role === 'reasoner' ? '4' : '8');
  }
  assertQuiet(workbench);
});

scenario('by keyboard alone a run is laid over another, and taken off again', async (workbench) => {
  await withStore(workbench, (store) => {
    addMadeRun(store, { id: 'under', title: 'Keys under', seed: 5, steps: 30, accuracy: [0.5, 0.6] });
    addMadeRun(store, { id: 'over', title: 'Keys over', method: 'magrpo', seed: 6, steps: 30, accuracy: [0.5, 0.6] });
  });
  await workbench.openView('C3');
  await workbench.runCommand('C3: Refresh');
  await workbench.runCommand('C3: Open run dashboard');
  const dashboard = await workbench.webview('Run dashboard');
  await choose(workbench, dashboard, 'Keys under');
  await eventually('its points', async () =>
    (await chart(dashboard, 'Mean return').getAttribute('aria-label'))?.includes(' 30 points'),
  );
  const picker = dashboard.locator('.picker > summary');
  const { keyboard } = workbench.page;
  await tabTo(workbench, picker);
  await keyboard.press('Enter');
  const box = dashboard.getByRole('checkbox', { name: /Keys over/u });
  await tabTo(workbench, box);
  await keyboard.press('Space');
  const legend = dashboard.getByRole('list', { name: 'Runs in the charts' });
  await legend.getByRole('listitem').filter({ hasText: 'Keys over' }).waitFor();
  assert.ok(await hasFocus(box), 'the keyboard stays on the box');
  await keyboard.press('Escape');
  await box.waitFor({ state: 'hidden' });
  assert.ok(await hasFocus(picker), 'Escape closes the list and stays at it');
  await tabTo(workbench, legend.getByRole('button', { name: 'Remove run B' }));
  await keyboard.press('Enter');
  await legend.waitFor({ state: 'hidden' });
  await dashboard.getByText('Compare runs', { exact: true }).waitFor();
  assertQuiet(workbench);
});
