/**
 * One credit per message in a transcript: why an episode was lost, what it takes to be sure, the same number in every
 * place, and what the words mean.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FrameLocator, Locator } from 'playwright-core';
import { isRecord } from '../../src/shared/guard.ts';
import { headlineJson, sentence, type Headline } from '../../src/shared/credit/headline.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { UNIT_RULE } from '../support/headlines.ts';
import { addComparison, addTree, instance, LEDGER, METRICS } from '../unit/extension/storeFixture.ts';
import { findings } from './axe.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import {
  assertQuiet,
  c3,
  choose,
  firstPlan,
  frameOf,
  hasFocus,
  openFromEpisodes,
  paneReady,
  reading,
  reloadWindow,
  storeOf,
  TINY,
  transcriptOf,
} from './team.ts';

const scenario = workbenchScenarios({
  // With shared random numbers some answers differ so much that few replays settle their credit.
  files: { 'tiny.c3.yaml': `${TINY}credit: { common_random_numbers: true, merge_contexts: false }\n` },
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const ARTIFACTS = join(import.meta.dirname, '..', 'artifacts', 'screenshots');
const ROW = '[role="treeitem"]';
const MINUS = '\u2212';
/** What was said, lost, and what most others said. */
const LOST = 'The total is 10*4-10 = 30 <b>x</b>';
const WON = 'The total is 10*4+10 = 50 <b>x</b>';

let prepared: Readonly<Record<'decided' | 'undecided' | 'never', string>> | null = null;

/** Three lost episodes beside those of the tiny run: one decided by many replays, one with few, one without any. */
async function prepare(workbench: Workbench): Promise<NonNullable<typeof prepared>> {
  if (prepared !== null) {
    return prepared;
  }
  await firstPlan(workbench);
  const run = reading(workbench, (store) => store.runs(0, 1)[0]?.id ?? '');
  const writer = openStoreForWriting(storeOf(workbench.folder), { headlines: UNIT_RULE });
  try {
    writer.insertSnapshot({ id: 'a'.repeat(64), run, iteration: 3, base: 'a'.repeat(64), file: null });
    writer.insertStep({ run, iteration: 3, snapshot: 'a'.repeat(64), ledger: LEDGER });
    writer.finishStep(run, 3, METRICS, LEDGER);
    for (const [index, won] of [16, 2, 0].entries()) {
      const words = (_: number, actor: number | null): string => (actor === null ? 'plan' : actor === 0 ? LOST : WON);
      const [tree] = addTree(writer, { run, iteration: 3, instance: instance(40 + index), returns: [[0, 1]], words });
      const others = Array.from({ length: won }, (_, other) => `${WON}${'.'.repeat(other)}`);
      if (won > 0) {
        addComparison(
          writer,
          tree?.actors[0] ?? 0,
          0,
          others,
          others.map(() => 1),
        );
      }
    }
  } finally {
    writer.close();
  }
  prepared = { decided: 'Question 40', undecided: 'Question 41', never: 'Question 42' };
  return prepared;
}

async function openQuestion(workbench: Workbench, question: string): Promise<FrameLocator> {
  await workbench.runCommand('C3: Refresh');
  await openFromEpisodes(workbench, question, 'Tiny');
  const transcript = await workbench.webview(new RegExp(`^${question}`, 'u'));
  await transcript.locator(`${ROW}[aria-selected="true"]`).waitFor();
  return transcript;
}

const signed = (value: number): string => (value > 0 ? `+${value.toFixed(2)}` : value.toFixed(2).replace('-', MINUS));
const headlineOf = (workbench: Workbench, message: number): Headline => {
  const { credit } = reading(workbench, (store) => store.message(message));
  assert.ok(credit);
  return credit;
};
const words = async (locator: Locator): Promise<string> => (await locator.innerText()).replaceAll(/\s+/gu, ' ').trim();

async function pictures(workbench: Workbench, name: string): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    await workbench.screenshot(name, theme);
  }
  for (const [label, width, height] of [
    ['1280', 1280, 800],
    ['1920', 1920, 1080],
    ['zoom', 640, 400],
  ] as const) {
    await workbench.page.setViewportSize({ width, height });
    await workbench.page.screenshot({ path: join(ARTIFACTS, `${name}-${label}.png`), animations: 'disabled' });
  }
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
}

scenario(
  'a lost episode says why: the message that decided it, the best said instead, where they differ; folded to a line it stays so',
  async (workbench) => {
    const { decided } = await prepare(workbench);
    const transcript = await openQuestion(workbench, decided);
    const why = transcript.locator('.why');
    await why.getByText('Decisive message').waitFor();
    const lost = reading(workbench, (store) =>
      store
        .transcript({
          run: store.runs(0, 1)[0]?.id ?? '',
          phase: 'train',
          iteration: 3,
          instance: instance(40).uidSha,
          offset: 0,
          limit: 10,
        })
        .messages.find(({ text }) => text === LOST),
    );
    assert.equal(lost?.credit?.verdict, 'hurt', 'sixteen that won are enough');
    const value = signed(lost.credit.value);
    for (const said of ['Why it was lost', 'Decided: hurt', value]) {
      await eventually(`"${said}"`, async () => (await words(why)).includes(said));
    }
    await eventually('where both differ', async () => {
      const gone = await why.locator('del').allTextContents();
      assert.deepEqual(
        gone.map((text) => text.replace(' removed: ', '')),
        ['-', '30'],
      );
      const came = await why.locator('ins').allTextContents();
      assert.deepEqual(
        came.slice(0, 2).map((text) => text.replace(' added: ', '')),
        ['+', '50'],
      );
      return true;
    });
    // Texts of models are text.
    assert.equal(await why.locator('b').count(), 0);
    assert.ok((await why.locator('.why-difference').innerText()).includes('<b>x</b>'));
    assert.equal(await why.getByRole('button', { name: /^Settle/u }).isVisible(), false);
    await pictures(workbench, 'why-lost');
    // The best alternative is a click away: the run itself said it, too.
    await why.getByRole('button', { name: 'actor' }).last().click();
    await transcript.locator(`${ROW}[aria-selected="true"]:not([aria-label^="actor 1 of 2"])`).waitFor();
    await transcript.locator(`${ROW}[aria-label^="actor 1 of 2"]`).first().click();
    await why.getByText('Decisive message').waitFor();
    await why.locator('summary').click();
    await why.getByText('Decisive message').waitFor({ state: 'hidden' });
    // The editor lays out its panels some frames after the window.
    await eventually('one line', async () => {
      const line = await words(why);
      assert.ok(line.startsWith(`Why it was lost: actor hurt (${value}): The total is`), line);
      const { height } = (await why.boundingBox()) ?? { height: Infinity };
      assert.ok(height <= 34, `${String(height)} pixels`);
      return true;
    });
    await reloadWindow(workbench);
    const again = await workbench.webview(new RegExp(`^${decided}`, 'u'));
    await again.locator('.why', { hasText: 'Why it was lost' }).waitFor();
    await eventually('it folded still', async () => (await again.locator('.why').getAttribute('open')) === null);
    await again.locator('.why > summary').click();
    await again.getByText('Decisive message').waitFor();
    // An episode that was won has no such summary.
    await again.locator(`${ROW}[aria-label^="actor 2 of 2"]`).first().click();
    await again.locator('.why').waitFor({ state: 'hidden' });
    assert.deepEqual(
      (await findings(again)).filter(({ impact }) => impact === 'serious' || impact === 'critical'),
      [],
    );
    assertQuiet(workbench);
  },
);

scenario(
  'where nothing is decided the clearest candidate is called so, and what was never compared says how to',
  async (workbench) => {
    const { undecided, never } = await prepare(workbench);
    const transcript = await openQuestion(workbench, undecided);
    const why = transcript.locator('.why');
    await why.getByText('Clearest candidate', { exact: true }).waitFor();
    assert.equal(await why.getByText('Decisive message').count(), 0);
    const lost = reading(workbench, (store) =>
      store
        .transcript({
          run: store.runs(0, 1)[0]?.id ?? '',
          phase: 'train',
          iteration: 3,
          instance: instance(41).uidSha,
          offset: 0,
          limit: 10,
        })
        .messages.find(({ text }) => text === LOST),
    );
    assert.ok(lost?.credit);
    assert.equal(lost.credit.verdict, 'undecided');
    await why.getByText(`To be sure: ${sentence(lost.credit)}`).waitFor();
    await why.getByRole('button', { name: `Settle with about ${String(lost.credit.more)} replays` }).waitFor();
    const other = await openQuestion(workbench, never);
    assert.equal(await workbench.tab('Episodes').count(), 1, 'the tab that was kept over the reload is shown again');
    await other.locator('.why').getByText('No message of this episode has been compared with others yet.').waitFor();
    assertQuiet(workbench);
  },
);

scenario(
  'R six times: one credit in row, pane, list, buckets view, report and on the command line, and it converges',
  async (workbench) => {
    const { question, message } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);
    await choose(transcript, 'reasoner');
    const requests = (): number =>
      reading(workbench, (store) => store.bucketsFor(message).filter(({ origin }) => origin === 'request').length);
    const row = transcript.locator(`${ROW}[aria-label^="reasoner 1 of 2:"]`).first();
    const own = transcript.getByRole('listitem').filter({ hasText: 'this message' });
    const seen: Headline[] = [];
    for (let press = 1; press <= 6; press++) {
      await transcript.getByRole('tree').press('r');
      await eventually(`request ${String(press)}`, () => requests() === press || undefined, 120_000);
      // Messages to a page keep their order, so one that shows what was stored also knows of its replay.
      await transcript
        .getByText(new RegExp(`in ${String(press)} requests?$`, 'u'))
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
      await transcript.locator('.fact-credit').getByText(sentence(credit), { exact: true }).waitFor();
      await eventually(
        `${value} in the row`,
        async () =>
          (await row.getAttribute('aria-label'))?.includes(`credit ${value}`) === true &&
          (await row.getAttribute('aria-label'))?.includes(sentence(credit)),
      );
      await eventually(`${value} in each list`, async () => {
        const lists = await own.allInnerTexts();
        return (
          lists.length >= press &&
          lists.every(
            (text) =>
              text.includes(value) &&
              text.replaceAll(/\s+/gu, ' ').includes(`effective n ${String(credit.effectiveN)}`),
          )
        );
      });
    }
    await pictures(workbench, 'one-credit');
    const last = seen.at(-1);
    const [first] = seen;
    assert.ok(first && last && first.low !== null && first.high !== null && last.low !== null && last.high !== null);
    const width = ({ low, high }: Headline): number => (high ?? 1) - (low ?? -1);
    console.log(
      seen
        .map(
          (credit) =>
            `${signed(credit.value)} [${String(credit.low)}, ${String(credit.high)}] n ${String(credit.n)} effective ${String(credit.effectiveN)} ${sentence(credit)}`,
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
    await c3(workbench.folder, 'report', '--message', String(message), '--out', 'finding.json');
    await c3(workbench.folder, 'report', '--message', String(message), '--out', 'finding.html');
    assert.ok(readFileSync(join(workbench.folder, 'finding.html'), 'utf8').includes(value), 'the report as a page');
    const report: unknown = JSON.parse(readFileSync(join(workbench.folder, 'finding.json'), 'utf8'));
    const json = JSON.stringify(report);
    assert.ok(isRecord(report) && json.includes(`"value":${String(last.value)}`), 'the report as data');
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
    // What the command line adds, it prints, and the taxonomy and the open transcript show.
    const replayed = await c3(workbench.folder, 'replay', String(message), '--alternatives', '2', '--replays', '2');
    const newest = headlineOf(workbench, message);
    assert.ok(newest.effectiveN > last.effectiveN);
    const original = isRecord(replayed['original']) ? replayed['original']['credit'] : null;
    assert.deepEqual(original, JSON.parse(JSON.stringify(headlineJson(newest))), 'c3 replay --json');
    await eventually(`${signed(newest.value)} in the pane`, async () =>
      (await words(transcript.locator('.fact-credit'))).includes(`effective n ${String(newest.effectiveN)}`),
    );
    await eventually('the same in the row', async () =>
      (await row.getAttribute('aria-label'))?.includes(`credit ${signed(newest.value)}`),
    );
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
        (text) => text.includes(signed(newest.value)) && text.replaceAll(/\s+/gu, ' ').includes(sentence(newest)),
      );
    });
    await workbench.closeEditor();
    assertQuiet(workbench);
  },
);

scenario(
  'equal alternatives are one item with their number, and the training credit is under Details',
  async (workbench) => {
    const { question, message } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);
    await choose(transcript, 'reasoner');
    const bucket = reading(workbench, (store) =>
      store.bucketsFor(message).findLast(({ origin }) => origin === 'request'),
    );
    assert.ok(bucket);
    const counted = Map.groupBy(bucket.alternatives, ({ text }) => text);
    const list = transcript.getByRole('region', { name: 'Replayed alternatives' }).first();
    await eventually('one item per text', async () => (await list.getByRole('listitem').count()) === counted.size);
    for (const [text, all] of counted) {
      if (all.length > 1) {
        await list
          .getByRole('listitem')
          .filter({ hasText: text })
          .getByText(`×${String(all.length)}`)
          .first()
          .waitFor();
      }
    }
    const { trainingCredit } = reading(workbench, (store) => store.message(message));
    assert.ok(trainingCredit);
    await transcript.getByText('Details', { exact: true }).click();
    await eventually('the training credit', async () =>
      (await words(transcript.locator('.keys-and-hashes'))).includes(`Training credit ${signed(trainingCredit.value)}`),
    );
    await transcript.getByText('Details', { exact: true }).click();
  },
);

scenario(
  'an undecided message is settled by its button, which spends pairs of replays and says what came of it',
  async (workbench) => {
    const { question } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);
    const button = transcript
      .locator('.fact-credit')
      .getByRole('button', { name: /^Settle with about \d+ replays?$/u });
    const actors = transcript.locator(`${ROW}[aria-label^="actor"]:not([aria-label*=", replayed"])`);
    const offered = await eventually('a message that replays would settle', async () => {
      for (const row of await actors.all()) {
        await row.click();
        await paneReady(transcript);
        if (await button.isVisible()) {
          return row;
        }
      }
      return undefined;
    });
    const paired = (): number =>
      reading(
        workbench,
        (store) =>
          store.bucketsOfRun({ run: store.runs(0, 1)[0]?.id ?? '', origin: 'request', offset: 0, limit: 500 }).length,
      );
    const before = paired();
    await button.click();
    await transcript
      .locator('.fact-credit')
      .getByText(/^(Settled with|Still undecided after) \d+ replays?\.$/u)
      .waitFor({ timeout: 180_000 });
    assert.equal(paired(), before + 1, 'one request');
    await eventually('what came of it in the row', async () =>
      /helped|hurt|undecided/u.test((await offered.getAttribute('aria-label')) ?? ''),
    );
    assertQuiet(workbench);
  },
);

scenario('the pane says that it is busy until it shows the message that was chosen', async (workbench) => {
  const { question } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'reasoner');
  await transcript.locator(`${ROW}[aria-label^="actor 1 of"]`).first().waitFor();
  // Found and clicked in one step: the tree may draw its rows anew between two.
  const busy = await (
    await frameOf(transcript)
  ).evaluate(() => {
    const row = document.querySelector('[role="treeitem"][aria-label^="actor 1 of"]');
    row?.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    return document.querySelector('.detail')?.getAttribute('aria-busy');
  });
  assert.equal(busy, 'true', 'what is on screen is not what was chosen');
  await paneReady(transcript);
  await transcript.getByRole('heading', { name: 'actor' }).waitFor();
});

scenario('what a word means shows under the pointer and for the keyboard, and Escape closes it', async (workbench) => {
  const { question } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  const tip = transcript.getByRole('tooltip');
  const pane = transcript.locator('.detail');
  const word = pane.getByRole('button', { name: 'Credit', exact: true }).first();
  // What came of the replays before may still arrive, and moves the words that are explained.
  await eventually('the explanation under the pointer', async () => {
    await transcript.getByRole('tree').hover();
    await word.hover();
    await tip.getByText('How much better episodes end with this message').waitFor({ timeout: 5_000 });
    return true;
  });
  // The pointer may go on to the explanation.
  await tip.hover();
  await tip.waitFor();
  await transcript.getByRole('tree').hover();
  await tip.waitFor({ state: 'hidden' });
  const effective = pane.getByRole('button', { name: 'effective n' }).first();
  await effective.focus();
  await tip.getByText('independent pieces of evidence').waitFor();
  assert.match((await effective.getAttribute('aria-description')) ?? '', /independent pieces of evidence/u);
  for (const theme of ['light', 'dark'] as const) {
    await workbench.setTheme(theme);
    await effective.focus();
    await tip.waitFor();
    await workbench.page.screenshot({ path: join(ARTIFACTS, `glossary-${theme}.png`), animations: 'disabled' });
  }
  await effective.press('Escape');
  await tip.waitFor({ state: 'hidden' });
  assert.ok(await hasFocus(effective), 'the word has the keyboard still');
  await transcript.getByRole('tree').press('?');
  const sheet = transcript.getByRole('dialog', { name: 'Keys of the message tree' });
  for (const name of ['rho', 'stream', 'bucket', 'snapshot', 'replay']) {
    await sheet.locator('.words-list dt').getByText(name, { exact: true }).waitFor();
  }
  await workbench.page.keyboard.press('Escape');
  assertQuiet(workbench);
});
