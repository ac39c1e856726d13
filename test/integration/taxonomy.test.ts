/** The failure taxonomy: counts that agree with the command line, own labels, and the way to the transcript. */

import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import { isRecord } from '../../src/shared/guard.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { caseOf, choose, openTaxonomy, prepare } from './taxonomyPanel.ts';
import { assertQuiet, c3 } from './team.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

const CLASSES = ['Misleading Plan', 'Evaluator Ambiguity', 'Successful Credit Shift', 'Over-Coupling'];

function countCell(taxonomy: FrameLocator, name: string): Locator {
  return taxonomy
    .locator('table.classes tbody tr')
    .filter({ has: taxonomy.getByRole('button', { name, exact: true }) })
    .locator('td.count');
}

/** What the command line prints of the run. */
function printedTaxonomy(workbench: Workbench, ...thresholds: readonly string[]): ReturnType<typeof c3> {
  return c3(
    workbench.folder,
    'taxonomy',
    '--run',
    prepare(workbench),
    ...thresholds.flatMap((one) => ['--thresholds', one]),
  );
}

/** Counts by class as the command line prints them, what is unclassified, and what is no failure. */
function countsOf(printed: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> {
  const { classes, allSucceeded: succeeded } = printed;
  assert.ok(Array.isArray(classes));
  return new Map([
    ...classes.map((entry: { name: string; count: number }): [string, number] => [entry.name, entry.count]),
    ['unclassified', Number(printed['unclassified'])],
    ['all succeeded', isRecord(succeeded) ? Number(succeeded['count']) : NaN],
  ]);
}

scenario(
  'the classes count what the command line counts, for these thresholds and for others, with the old counts beside',
  async (workbench) => {
    const taxonomy = await openTaxonomy(workbench);
    const before = countsOf(await printedTaxonomy(workbench));
    for (const [name, number] of before) {
      await eventually(
        `${number} of ${name}`,
        async () => (await countCell(taxonomy, name).innerText()) === String(number),
      );
    }
    // The third tree succeeds everywhere: three buckets that no class counts.
    assert.ok((before.get('all succeeded') ?? 0) >= 3);
    await taxonomy.getByRole('button', { name: 'all succeeded', exact: true }).click();
    await eventually(
      'the successes alone',
      async () => (await taxonomy.locator('.cases > li').count()) === before.get('all succeeded'),
    );
    await eventually('no other class', async () =>
      (await taxonomy.locator('.cases .case-class').allInnerTexts()).every((name) => name === 'all succeeded'),
    );
    assert.equal(await taxonomy.locator('.cases > li').filter({ hasText: 'Question 3' }).count(), 3);
    await taxonomy.getByRole('button', { name: 'all succeeded', exact: true }).click();
    await taxonomy.getByText("The paper's name for a failure that credit can find").waitFor();
    await taxonomy
      .getByText("Counted with the paper's thresholds: misleading < 0.5, ambiguity < 0.01, shift > 0.2, level 0.05")
      .waitFor();
    const reset = taxonomy.getByRole('button', { name: "Reset to the paper's values" });
    // By keyboard alone: ten steps of the slider.
    const slider = taxonomy.getByRole('slider', { name: 'Shift: best above real by more than' });
    await slider.focus();
    for (let step = 0; step < 10; step++) {
      await slider.press('ArrowRight');
    }
    const shift = countsOf(await printedTaxonomy(workbench, 'shift=0.3'));
    await taxonomy.getByText('shift > 0.3, level 0.05. Arrows start at').waitFor();
    const shown = (name: string, now: number): string =>
      before.get(name) === now ? String(now) : `${String(before.get(name))} \u2192 ${now}`;
    for (const [name, number] of shift) {
      await eventually(`the new count of ${name}`, async () =>
        (
          await countCell(taxonomy, name).locator('span').first().or(countCell(taxonomy, name)).first().innerText()
        ).startsWith(shown(name, number)),
      );
    }
    assert.notDeepEqual(shift, before);
    await eventually('one changed threshold', async () => (await taxonomy.locator('.threshold.changed').count()) === 1);
    // A number that is none changes nothing; one that is counts at once.
    const number = taxonomy.getByRole('spinbutton', { name: 'Shift: best above real by more than' });
    await number.fill('');
    await taxonomy.getByText('Enter a number from 0 to 1000000; until then, 0.3 applies.').waitFor();
    await number.fill('0.26');
    await taxonomy.getByText('shift > 0.26, level 0.05. Arrows start at').waitFor();
    await reset.click();
    await eventually('the counts of before', async () =>
      (
        await Promise.all(
          [...before].map(
            async ([name, expected]) => (await countCell(taxonomy, name).innerText()) === String(expected),
          ),
        )
      ).every(Boolean),
    );
    assertQuiet(workbench);
  },
);

scenario(
  'labels are given by form and by key, stay readable, and their agreement is that of the command line',
  async (workbench) => {
    const taxonomy = await openTaxonomy(workbench);
    await taxonomy.getByText('Agreement with your labels is not measured: label two cases').waitFor();
    // By key, on the row: 1 is the first class in the order of precedence.
    const plan = await caseOf(taxonomy, 'Question 1:', 'reasoner');
    await plan.locator('button.case').focus();
    await plan.locator('button.case').press('1');
    await plan.locator('.case-label', { hasText: 'Misleading Plan' }).waitFor();
    const same = await caseOf(taxonomy, 'Question 3', 'reasoner');
    await same.locator('button.case').focus();
    await same.locator('button.case').press('2');
    await same.locator('.case-label', { hasText: 'Evaluator Ambiguity' }).waitFor();
    // In own words, which are text and nothing else; then another word, and the first stays in the history.
    const odd = await caseOf(taxonomy, 'Question 6', 'reasoner');
    await odd.locator('button.case').click();
    const form = odd.getByRole('region', { name: 'Your label' });
    await choose(taxonomy, 'Your label', 'In my own words');
    await form.getByRole('textbox', { name: 'In your own words' }).fill('<b>odd</b>');
    await form.getByRole('button', { name: 'Save label' }).click();
    await odd.locator('.case-label', { hasText: '<b>odd</b>' }).waitFor();
    await choose(taxonomy, 'Your label', 'Successful Credit Shift');
    await form.getByRole('textbox', { name: 'Note' }).fill('on second thoughts');
    await form.getByRole('button', { name: 'Save label' }).click();
    await odd.locator('.history li', { hasText: 'Successful Credit Shift' }).waitFor();
    await eventually('both labels, the newer first', async () => {
      assert.deepEqual(await odd.locator('.history .label-name').allInnerTexts(), [
        'Successful Credit Shift',
        '<b>odd</b>',
      ]);
      return true;
    });
    assert.equal(await taxonomy.locator('.cases b, .cases img').count(), 0);
    const printed = await printedTaxonomy(workbench);
    const agreement = printed['agreement'];
    assert.ok(isRecord(agreement) && isRecord(agreement['kappa']));
    await taxonomy
      .getByText(`Cohen's kappa ${Number(agreement['kappa']['value']).toFixed(2).replace('-', '\u2212')},`)
      .waitFor();
    // Three labels: the counts, and no interval that so few could not carry.
    assert.deepEqual(
      [agreement['kappa']['low'], agreement['kappa']['high'], agreement['standardError']],
      [null, null, null],
    );
    const agreed = Number(agreement['agreed']);
    await taxonomy
      .getByText(
        `n = ${String(agreement['n'])}; ${agreed} ${agreed === 1 ? 'agrees' : 'agree'}. At least 20 labels are needed for an interval.`,
      )
      .waitFor();
    await odd.scrollIntoViewIfNeeded();
    await workbench.screenshot('taxonomy-case');
    // Only what disagrees, then only one class, then everything.
    await taxonomy.getByRole('button', { name: /^Show the \d+ that/u }).click();
    await eventually(
      'the disagreements alone',
      async () =>
        (await taxonomy.locator('.cases > li').count()) === Number(agreement['n']) - Number(agreement['agreed']),
    );
    await taxonomy.getByRole('button', { name: 'All cases' }).click();
    await taxonomy.getByRole('button', { name: 'Over-Coupling', exact: true }).click();
    const coupled = countsOf(printed).get('Over-Coupling');
    await eventually('one class alone', async () => (await taxonomy.locator('.cases > li').count()) === coupled);
    await taxonomy.getByRole('button', { name: 'All cases' }).click();
    await eventually('all cases', async () => (await taxonomy.locator('.cases > li').count()) > CLASSES.length);
    assertQuiet(workbench);
  },
);

scenario('findings say what was measured and what was not, and a case opens its message', async (workbench) => {
  const taxonomy = await openTaxonomy(workbench);
  const printed = await printedTaxonomy(workbench);
  const detectors = printed['detectors'];
  assert.ok(Array.isArray(detectors));
  for (const { name, count, measured, notMeasured } of detectors as {
    name: string;
    count: number;
    measured: number;
    notMeasured: number;
  }[]) {
    const row = taxonomy
      .locator('.findings tbody tr')
      .filter({ has: taxonomy.getByRole('button', { name, exact: true }) });
    await eventually(`what was found of "${name}"`, async () => {
      assert.deepEqual(await row.getByRole('cell').allInnerTexts(), [
        measured === 0 ? 'not measured' : String(count),
        String(measured),
        String(notMeasured),
      ]);
      return true;
    });
  }
  await taxonomy.getByRole('button', { name: 'plan ignored' }).press('Enter');
  await taxonomy.getByText('Not measured: replay the plan with an empty text').waitFor();
  // Narrow and wide, from the top.
  for (const [width, height] of [
    [1280, 800],
    [800, 900],
  ] as const) {
    await workbench.page.setViewportSize({ width, height });
    await taxonomy.getByRole('button', { name: 'Refresh' }).scrollIntoViewIfNeeded();
    // The editor lays out its panels some frames after the window.
    await eventually(`nothing to be cut off at ${width}`, () =>
      taxonomy.locator('html').evaluate((page: HTMLElement) => page.scrollWidth <= page.clientWidth),
    );
    // The meanings of the classes have room beside the numbers.
    const share = await taxonomy
      .locator('table.classes')
      .evaluate((table: HTMLTableElement) => (table.rows[0]?.cells[0]?.offsetWidth ?? 0) / table.offsetWidth);
    assert.ok(share > 0.43, `${share} at ${width}`);
  }
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
  const item = await caseOf(taxonomy, 'Question 4', 'reasoner');
  await item.locator('button.case').press('o');
  const transcript = await workbench.webview(/^Question 4/u);
  await transcript.locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner"]').waitFor();
  await transcript.getByRole('heading', { name: 'reasoner' }).waitFor();
  assertQuiet(workbench);
});
