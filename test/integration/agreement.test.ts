/** For one run the rows of its transcripts, the side bar and the classes say what the command line says. */
import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import type { Message } from '../../src/shared/records/records.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, storeOf, TINY, unfold } from './team.ts';

// A diagnosis compares the alternatives of one bucket: so does this run.
const scenario = workbenchScenarios({ files: { 'tiny.c3.yaml': `${TINY}credit: { merge_contexts: false }\n` } });
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
  /** NaN where nothing else was sampled in its place. */
  readonly credit: number;
}

/** The questions of a step, in the order of the side bar. */
function questionsOf(workbench: Workbench, run: string, iteration: number): readonly string[] {
  const store = openStoreForReading(storeOf(workbench.folder));
  try {
    return [
      ...new Set(
        store.episodes({ run, phase: 'train', iteration, offset: 0, limit: 100 }).map(({ question }) => question),
      ),
    ];
  } finally {
    store.close();
  }
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
      /^(\S+) \d of 2: [^]*; return (\S+); credit ([+\u2212]?[\d.]+|not measured: no other message was sampled here)/u.exec(
        label,
      ) ?? [];
    assert.notEqual(credit, undefined, label);
    return { role, level: Number(level), return: number(value), credit: number(credit) };
  });
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The messages of a question in a step, in the order of the rows. */
function messagesOf(workbench: Workbench, run: string, iteration: number, question: string): readonly Message[] {
  const store = openStoreForReading(storeOf(workbench.folder));
  try {
    const group = { run, phase: 'train', iteration } as const;
    const instance =
      store.episodes({ ...group, offset: 0, limit: 100 }).find((episode) => episode.question === question)?.instance ??
      '';
    return store.transcript({ ...group, instance, offset: 0, limit: 100 }).messages;
  } finally {
    store.close();
  }
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
  const run = String((await c3(workbench.folder, 'run', 'tiny.c3.yaml'))['run']);
  const diagnosis = JSON.parse(JSON.stringify(await c3(workbench.folder, 'diagnose', '--run', run))) as Diagnosis;
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
    const step = workbench.treeItem(view, `Step ${String(iteration)}`);
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
          messages.map(({ credit }) =>
            credit === null || credit.verdict === 'alone' ? NaN : Number(credit.value.toFixed(2)),
          ),
        );
        return shown;
      });
      assert.ok(
        rows.every((row) => Number.isFinite(row.return)),
        JSON.stringify(rows),
      );
      variances.push(
        ...variancesOf(
          messages.map(({ eventType, trainingCredit }) => ({ role: eventType, credit: trainingCredit?.value ?? 0 })),
        ),
      );
      leaves.push(...rows.filter(({ role }) => role === 'actor').map((row) => row.return));
      for (const { name, cases } of taxonomy.classes) {
        await transcript.getByRole('combobox', { name: 'Label or failure class' }).selectOption(`Class: ${name}`);
        const here = cases.filter((one) => one.question === question).length;
        await transcript.locator('.matching', { hasText: `${String(here)} of 6 messages` }).waitFor();
        matched.set(name, (matched.get(name) ?? 0) + here);
      }
    }
    const said = `mean return ${mean(leaves).toFixed(2)}, ${String(leaves.length)} episodes`;
    await eventually(said, async () => (await step.innerText()).replaceAll(/\s+/gu, ' ').includes(said));
    // The next step may have the same questions.
    await step.click();
    await step.and(workbench.page.locator('[aria-expanded="false"]')).waitFor();
  }
  assert.equal(variances.length, diagnosis.variance.n);
  // Rows show two digits; the returns of this run are 0 and 1, so that no more are lost than these.
  assert.ok(
    Math.abs(mean(variances) - diagnosis.variance.value) < 0.01,
    `${String(mean(variances))} and ${String(diagnosis.variance.value)}`,
  );
  for (const { name, count } of taxonomy.classes) {
    assert.equal(matched.get(name), count, name);
  }
  assertQuiet(workbench);
});
