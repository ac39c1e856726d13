/** For one run its transcripts, the side bar, the classes and the dashboard say what the command line says. */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import type { Message } from '../../../src/domain/message.ts';
import { formatDecimal } from '../../../src/shared/text/figures.ts';
import { choose, openDashboard, seePoints, tableOf } from '../../integration/dashboardPanel.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { quantile, roundNumbers } from '../../integration/storeNumbers.ts';
import { assertQuiet, c3, chooseOption, reading, unfold } from '../../integration/team.ts';

// A diagnosis compares the alternatives of one bucket: so does this run.
const scenario = workbenchScenarios({ recording: 'arithmeticApart' });
const ROW = '[role="treeitem"]';
const STEPS = [1, 2];

interface Diagnosis {
  readonly accuracy: { readonly greedy: { readonly value: number } };
  readonly variance: { readonly value: number; readonly n: number };
}
interface Taxonomy {
  readonly classes: readonly {
    readonly name: string;
    readonly count: number;
    readonly cases: readonly { readonly question: string }[];
  }[];
}
interface Row {
  readonly role: string;
  readonly level: number;
  readonly return: number;
  /** What training gave where nothing else was sampled in its place; NaN without that. */
  readonly credit: number;
}

let known: { readonly run: string; readonly diagnosis: Readonly<Record<string, unknown>> } | undefined;

/** The only run, and what the command line says of it. */
async function diagnosed(workbench: Workbench): Promise<NonNullable<typeof known>> {
  if (known === undefined) {
    const run = reading(workbench, (store) => store.runs(0, 1)[0]?.id ?? assert.fail('no run'));
    known = { run, diagnosis: await c3(workbench.folder, 'diagnose', '--run', run) };
  }
  return known;
}

/** The questions of a step, in the order of the side bar. */
function questionsOf(workbench: Workbench, run: string, iteration: number): readonly string[] {
  return reading(workbench, (store) => [
    ...new Set(
      store.episodes({ run, phase: 'train', iteration, offset: 0, limit: 100 }).map(({ question }) => question),
    ),
  ]);
}

/** What the rows of a transcript say, as a screen reader speaks them. */
async function rowsOf(transcript: FrameLocator): Promise<readonly Row[]> {
  const rows = await eventually('the rows', async () => {
    const all = await transcript
      .locator(`${ROW}:not([aria-busy])`)
      .evaluateAll((elements) =>
        elements.map((element) => [element.getAttribute('aria-label') ?? '', element.getAttribute('aria-level') ?? '']),
      );
    return all.length === 7 && all;
  });
  const number = (text: string | undefined): number => Number(text?.replace('\u2212', '-'));
  return rows.slice(1).map(([label = '', level]) => {
    const [, role = '', value, credit] =
      /^(\S+) \d of 2: [^]*; return (\S+); (?:training )?credit ([+\u2212]?[\d.]+|not measured)/u.exec(label) ?? [];
    assert.notEqual(credit, undefined, label);
    return { role, level: Number(level), return: number(value), credit: number(credit) };
  });
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The messages of a question in a step, in the order of the rows. */
function messagesOf(workbench: Workbench, run: string, iteration: number, question: string): readonly Message[] {
  return reading(workbench, (store) => {
    const group = { run, phase: 'train', iteration } as const;
    const problem =
      store.episodes({ ...group, offset: 0, limit: 100 }).find((episode) => episode.question === question)?.problem ??
      '';
    return store.transcript({ ...group, problem, offset: 0, limit: 100 }).messages;
  });
}

type Trained = Pick<Row, 'role' | 'credit'>;

/** The population variance of each group of siblings: of the plans, and of the answers under each plan. */
function variancesOf(rows: readonly Trained[]): readonly number[] {
  const groups: Trained[][] = [[]];
  for (const row of rows) {
    if (row.role === 'reasoner') {
      groups.push([]);
    }
    (row.role === 'reasoner' ? groups[0] : groups.at(-1))?.push(row);
  }
  return groups.map((group) =>
    mean(group.map(({ credit }) => (credit - mean(group.map((other) => other.credit))) ** 2)),
  );
}

scenario('rows, side bar and classes agree with c3 diagnose and c3 taxonomy', async (workbench) => {
  const { run, diagnosis: printed } = await diagnosed(workbench);
  const diagnosis = JSON.parse(JSON.stringify(printed)) as Diagnosis;
  const taxonomy = JSON.parse(JSON.stringify(await c3(workbench.folder, 'taxonomy', '--run', run))) as Taxonomy;
  const view = await workbench.openView('C3');
  const title = workbench.treeItem(view, 'Tiny');
  await unfold(title);
  await eventually('the accuracy after training', async () =>
    (await title.innerText()).includes(`\u2192 ${(100 * diagnosis.accuracy.greedy.value).toFixed(1)} %`),
  );
  const variances: number[] = [];
  const matched = new Map<string, number>(taxonomy.classes.map(({ name }) => [name, 0]));
  for (const iteration of STEPS) {
    const step = workbench.treeItem(view, `Step ${iteration}`);
    await unfold(step);
    const leaves: number[] = [];
    for (const question of questionsOf(workbench, run, iteration)) {
      await workbench.treeItem(view, question.slice(0, 30)).click();
      const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
      const messages = messagesOf(workbench, run, iteration, question);
      // The panel shows the rows of the transcript before until those of this one are here.
      const rows = await eventually('the rows of this transcript with their credits', async () => {
        const shown = await rowsOf(transcript);
        assert.deepEqual(
          shown.map(({ credit }) => credit),
          messages.map(({ credit, trainingCredit }) => {
            const spoken = credit?.verdict === 'alone' ? trainingCredit : credit;
            return Number(spoken?.value.toFixed(2));
          }),
        );
        return shown;
      });
      assert.ok(
        rows.every((row) => Number.isFinite(row.return)),
        JSON.stringify(rows),
      );
      variances.push(
        ...variancesOf(messages.map(({ role, trainingCredit }) => ({ role, credit: trainingCredit?.value ?? 0 }))),
      );
      leaves.push(...rows.filter(({ role }) => role === 'actor').map((row) => row.return));
      for (const { name, cases } of taxonomy.classes) {
        await chooseOption(transcript, 'Label or failure class', `Class: ${name}`, { exact: true });
        const here = cases.filter((one) => one.question === question).length;
        await transcript.locator('.matching', { hasText: `${here} of 6 messages` }).waitFor();
        matched.set(name, (matched.get(name) ?? 0) + here);
      }
    }
    const said = `mean return ${mean(leaves).toFixed(2)}, ${leaves.length} episodes`;
    await eventually(said, async () => (await step.innerText()).replaceAll(/\s+/gu, ' ').includes(said));
    // The next step may have the same questions.
    await step.click();
    await step.and(workbench.page.locator('[aria-expanded="false"]')).waitFor();
  }
  assert.equal(variances.length, diagnosis.variance.n);
  // Rows show two digits; the returns of this run are 0 and 1, so that no more are lost than these.
  assert.ok(
    Math.abs(mean(variances) - diagnosis.variance.value) < 0.01,
    `${mean(variances)} and ${diagnosis.variance.value}`,
  );
  for (const { name, count } of taxonomy.classes) {
    assert.equal(matched.get(name), count, name);
  }
  assertQuiet(workbench);
});

const count = (value: number): string => value.toLocaleString('en');

scenario('the numbers of the dashboard are those of c3 diagnose for the same run', async (workbench) => {
  const { run, diagnosis } = await diagnosed(workbench);
  const dashboard = await openDashboard(workbench);
  await choose(workbench, dashboard, 'Run', 'Tiny');
  await seePoints(dashboard, 'Mean return', 2);
  const table = (title: string): Promise<readonly (readonly string[])[]> => tableOf(dashboard, title, 2);
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
    steps: [1, 2].map((iteration) => roundNumbers(store, run, 'train', iteration)),
    evaluations: [1, 2, 3, 4].map((iteration) => roundNumbers(store, run, 'evaluate', iteration)),
    metrics: store.steps(run, 0, 10).map((step) => step.metrics),
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
      (value) => formatDecimal(value, 5),
    ),
  );
  assert.deepEqual(
    await table('Clip fraction'),
    byStep(
      metrics.map((step) => [step?.clipFraction ?? NaN]),
      (value) => formatDecimal(value, 4),
    ),
  );
  for (const role of ['reasoner', 'actor']) {
    const expected = steps.map(({ credits }, step) => {
      const values = credits.get(role) ?? [];
      return [
        String(step + 1),
        ...[0.5, 0.25, 0.75, 0, 1].map((share) => formatDecimal(quantile(values, share), 3)),
        count(values.length),
      ];
    });
    assert.deepEqual(await table(`Training credit of ${role}`), expected, role);
    assert.equal(expected[0]?.at(-1), role === 'reasoner' ? '4' : '8');
  }
  assertQuiet(workbench);
});
