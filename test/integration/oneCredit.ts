/** One credit of a message in every place, while replays add to what is known of it. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { toHeadlineJson, describeHeadline, type Headline } from '../../src/shared/credit/headline.ts';
import { isRecord } from '../../src/shared/guard.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, choose, firstPlan, reading, transcriptOf } from './team.ts';

const ROW = '[role="treeitem"]';
const MINUS = '\u2212';

/** A credit as panels write it. */
export const signed = (value: number, digits = 2): string =>
  `${value > 0 ? '+' : ''}${value.toFixed(digits).replace('-', MINUS)}`;
const headlineOf = (workbench: Workbench, message: number): Headline => {
  const { credit } = reading(workbench, (store) => store.message(message));
  assert.ok(credit);
  return credit;
};
/** The text of an element in one line. */
export const words = async (locator: Locator): Promise<string> =>
  (await locator.innerText()).replaceAll(/\s+/gu, ' ').trim();

export interface Pressed {
  /** How often R asks for replays. */
  readonly presses: number;
  /** Whether reports, the diagnosis and the taxonomy are looked at, too. */
  readonly further: boolean;
}

/** Replays the first plan of the recorded run by R: its credit is the same number everywhere, and it converges. */
export async function replayedAgain(workbench: Workbench, { presses, further }: Pressed): Promise<void> {
  const { question, message } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'reasoner');
  const requests = (): number =>
    reading(workbench, (store) => store.bucketsFor(message).filter(({ origin }) => origin === 'request').length);
  const row = transcript.locator(`${ROW}[aria-label^="reasoner 1 of 2:"]`).first();
  const own = transcript.getByRole('listitem').filter({ hasText: 'this message' });
  const seen: Headline[] = [];
  for (let press = 1; press <= presses; press++) {
    await transcript.getByRole('tree').press('r');
    await eventually(`request ${press}`, () => requests() === press || undefined, 120_000);
    // Messages to a page keep their order, so one that shows what was stored also knows of its replay.
    await transcript
      .getByText(new RegExp(`in ${press} requests?$`, 'u'))
      .first()
      .waitFor();
    await transcript
      .getByRole('button', { name: 'Cancel', exact: true })
      .waitFor({ state: 'hidden', timeout: 120_000 });
    const credit = headlineOf(workbench, message);
    seen.push(credit);
    const value = signed(credit.value);
    await eventually(`${value} in the pane`, async () =>
      (await words(transcript.locator('.fact-credit'))).includes(value),
    );
    await transcript.locator('.fact-credit').getByText(describeHeadline(credit), { exact: true }).waitFor();
    await eventually(
      `${value} in the row`,
      async () =>
        (await row.getAttribute('aria-label'))?.includes(`credit ${value}`) === true &&
        (await row.getAttribute('aria-label'))?.includes(describeHeadline(credit)),
    );
    await eventually(`${value} in each list`, async () => {
      const lists = await own.allInnerTexts();
      return (
        lists.length >= press &&
        lists.every(
          (text) => text.includes(value) && text.replaceAll(/\s+/gu, ' ').includes(`effective n ${credit.effectiveN}`),
        )
      );
    });
  }
  await workbench.screenshot('one-credit');
  const last = seen.at(-1);
  const [first] = seen;
  assert.ok(first && last && first.low !== null && first.high !== null && last.low !== null && last.high !== null);
  const width = ({ low, high }: Headline): number => (high ?? 1) - (low ?? -1);
  console.log(
    seen
      .map(
        (credit) =>
          `${signed(credit.value)} [${String(credit.low)}, ${String(credit.high)}] n ${credit.n} effective ${credit.effectiveN} ${describeHeadline(credit)}`,
      )
      .join('\n'),
  );
  assert.ok(
    seen.every(
      (credit, at) =>
        at === 0 || (credit.n >= (seen[at - 1]?.n ?? 0) && credit.effectiveN > (seen[at - 1]?.effectiveN ?? 0)),
    ),
    'evidence adds up',
  );
  assert.ok(width(last) < width(first), 'the interval shrinks');
  // Further windows into the same store.
  const value = signed(last.value);
  const buckets = await workbench.openView('C3', 'Buckets');
  await buckets.getByRole('treeitem').filter({ hasText: 'reasoner' }).first().waitFor();
  await eventually(
    `${value} in the buckets view`,
    async () =>
      (await buckets
        .getByRole('treeitem')
        .filter({ hasText: `reasoner ${value}` })
        .count()) > 0,
  );
  if (further) {
    await seeReports(workbench, message, last);
  }
  // What the command line adds, it prints, and the taxonomy and the open transcript show.
  const replayed = await c3(workbench.folder, 'replay', String(message), '--alternatives', '2', '--replays', '2');
  const newest = headlineOf(workbench, message);
  assert.ok(newest.effectiveN > last.effectiveN);
  const original = isRecord(replayed['original']) ? replayed['original']['credit'] : null;
  assert.deepEqual(original, JSON.parse(JSON.stringify(toHeadlineJson(newest))), 'c3 replay --json');
  await eventually(`${signed(newest.value)} in the pane`, async () =>
    (await words(transcript.locator('.fact-credit'))).includes(`effective n ${newest.effectiveN}`),
  );
  await eventually('the same in the row', async () =>
    (await row.getAttribute('aria-label'))?.includes(`credit ${signed(newest.value)}`),
  );
  if (further) {
    await seeTaxonomy(workbench, message, newest);
  }
  assertQuiet(workbench);
}

/** The reports of a message and the diagnosis of its run have its credit. */
async function seeReports(workbench: Workbench, message: number, last: Headline): Promise<void> {
  await c3(workbench.folder, 'report', '--message', String(message), '--out', 'finding.json');
  await c3(workbench.folder, 'report', '--message', String(message), '--out', 'finding.html');
  const page = readFileSync(join(workbench.folder, 'finding.html'), 'utf8');
  assert.ok(page.includes(signed(last.value, 3)), 'the report as a page');
  const report: unknown = JSON.parse(readFileSync(join(workbench.folder, 'finding.json'), 'utf8'));
  const json = JSON.stringify(report);
  assert.ok(isRecord(report) && json.includes(`"value":${last.value}`), 'the report as data');
  const runId = reading(workbench, (store) => store.message(message).run);
  const diagnosed = await c3(workbench.folder, 'diagnose', '--run', runId);
  const clearest = Array.isArray(diagnosed['clearest'])
    ? (diagnosed['clearest'].find((one: unknown) => isRecord(one) && one['message'] === message) as unknown)
    : undefined;
  assert.ok(isRecord(clearest), 'c3 diagnose --json lists the message');
  assert.deepEqual(
    [clearest['value'], clearest['low'], clearest['high'], clearest['n']],
    [last.value, last.low, last.high, last.n],
    'c3 diagnose --json',
  );
}

/** The taxonomy has the credit of a message. */
async function seeTaxonomy(workbench: Workbench, message: number, newest: Headline): Promise<void> {
  await workbench.runCommand('C3: Inspect failure taxonomy');
  const taxonomy = await workbench.webview('Failure taxonomy');
  const trained = reading(
    workbench,
    (store) => store.bucketsFor(message).find(({ origin }) => origin === 'training')?.id,
  );
  await taxonomy.locator(`.cases > li[data-bucket="${String(trained)}"] button.case`).click();
  await eventually(`${signed(newest.value)} in the taxonomy`, async () => {
    const shown = await taxonomy.locator('.case-credit').allInnerTexts();
    return shown.some(
      (text) => text.includes(signed(newest.value)) && text.replaceAll(/\s+/gu, ' ').includes(describeHeadline(newest)),
    );
  });
  await workbench.closeEditor();
}
