/**
 * A transcript with more messages than its panel holds: what is drawn while it is scrolled and at rest, what a search
 * finds, and the way to any message.
 */

import assert from 'node:assert/strict';
import type { FrameLocator, Page } from 'playwright-core';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { BIG_RUN, BIG_WIDTH, writeBigTranscript } from '../support/bigTranscript.ts';
import { addRun, addTree, problem } from '../unit/extension/storeFixture.ts';
import { eventually, EXTENSION_ID, type workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, frameOf, openFromEpisodes, reading, reloadWindow, storeOf } from './team.ts';

const TITLE = /^Question 7/u;
/** Answers under each of the two plans of another transcript: more than the panel holds around the last. */
const BROAD = 1000;
const ROW_HEIGHT = 22;

export interface LargeTranscript {
  /** Messages; a multiple of ten times as many as there are between two needles. */
  readonly messages: number;
  /** How far the tree is scrolled at each frame, and for how many frames at most. */
  readonly speeds: readonly (readonly [pixels: number, frames: number])[];
  /** The plan in whose answers a filter is set. */
  readonly plan: number;
  /** Messages that are opened by a link, by their place. */
  readonly links: readonly number[];
  /** Whether the place is looked for after a reload, too. */
  readonly reloads: boolean;
  /** Most bytes of the panel; not measured where it is left out. */
  readonly memory?: number;
}

/** Plans between two that have an answer with the word "needle". */
const NEEDLES_APART = 100;

/**
 * Scrolls a tree by \`pixels\` at every frame and looks at each frame once it is drawn: rows missing, and rows still on
 * their way.
 */
const SCROLL = `async (pixels, most) => {
  const tree = document.querySelector('[role="tree"]');
  const counts = { frames: 0, missing: 0, waiting: 0, milliseconds: 0 };
  const start = performance.now();
  const look = () => {
    const { top, bottom } = tree.getBoundingClientRect();
    const end = Math.min(bottom, tree.firstElementChild.getBoundingClientRect().bottom);
    const seen = [...tree.querySelectorAll('.row')].map((row) => ({ row, at: row.getBoundingClientRect() })).filter(({ at }) => at.bottom > top + 1 && at.top < end - 1);
    const covered = seen.reduce((sum, { at }) => sum + Math.min(at.bottom, end) - Math.max(at.top, top), 0);
    counts.frames++;
    if (Math.abs(covered - (end - top)) > 1) counts.missing++;
    // Rows of the layout before are moved along until those of the new one are here.
    if (seen.some(({ row }) => row.hasAttribute('aria-busy') || row.style.translate !== '')) counts.waiting++;
  };
  for (let step = 0; step < most && tree.scrollTop + tree.clientHeight < tree.scrollHeight - 1; step++) {
    tree.scrollTop += pixels;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    look();
  }
  counts.milliseconds = Math.round(performance.now() - start);
  return counts;
}`;

interface Scrolled {
  readonly frames: number;
  /** Frames with a place where no row was drawn. */
  readonly missing: number;
  /** Frames with a row whose text was on its way. */
  readonly waiting: number;
  readonly milliseconds: number;
}

/** Makes the run with the large transcript, and one with a broad one. */
function write(workbench: Workbench, messages: number): void {
  writeBigTranscript(workbench.folder, messages);
  const writer = openStoreForWriting(storeOf(workbench.folder));
  addRun(writer, 'broad', '2020-01-01T00:00:00.000Z');
  writer.insertStep({
    run: 'broad',
    iteration: 1,
    snapshot: 'a'.repeat(64),
    ledger: { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {}, seconds: 0 },
  });
  addTree(writer, {
    run: 'broad',
    iteration: 1,
    problem: problem(8),
    returns: Array.from({ length: 2 }, () => Array.from({ length: BROAD }, () => 1)),
    words: (plan, actor) => (actor === null ? `<b>plan ${plan}</b>` : `answer ${plan}.${actor}`),
  });
  writer.close();
}

/** Bytes that live JavaScript holds in the window with all its panels. */
async function heap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function evaluate<Result>(panel: FrameLocator, expression: string): Promise<Result> {
  return (await frameOf(panel)).evaluate<Result>(expression);
}

/** No row is missing or on its way where the tree is still. */
async function settled(transcript: FrameLocator): Promise<void> {
  await eventually('every row in sight', async () => {
    const { missing, waiting, frames } = await evaluate<Scrolled>(
      transcript,
      `(${SCROLL.replace('step < most && tree.scrollTop + tree.clientHeight < tree.scrollHeight - 1', 'step < 1')})(0, 1)`,
    );
    return frames === 1 && missing === 0 && waiting === 0;
  });
}

/** The panel takes no more memory than it may. */
async function assertMemory(
  workbench: Workbench,
  transcript: FrameLocator,
  before: number,
  memory: number,
): Promise<void> {
  const all = await heap(workbench.page);
  console.log(`the panel and what it left in the window: ${megabytes(all - before)} of ${megabytes(all)}`);
  assert.ok(all - before < memory, megabytes(all - before));
  // The measure sees what the panel holds: a million numbers of 8 bytes.
  await evaluate(transcript, 'globalThis.ballast = Array.from({ length: 1e6 }, (_, index) => index + 0.5), 0');
  const laden = await heap(workbench.page);
  await evaluate(transcript, 'delete globalThis.ballast, 0');
  assert.ok(laden - all > 7e6, megabytes(laden - all));
}

/** Declares what is shown of a large transcript, one scenario after another in one window. */
export function largeTranscript(
  scenario: ReturnType<typeof workbenchScenarios>,
  { messages, speeds, plan, links, reloads, memory }: LargeTranscript,
): void {
  const plans = messages / (BIG_WIDTH + 1);
  let before = 0;

  scenario('it opens from the palette and draws its rows', async (workbench) => {
    write(workbench, messages);
    await workbench.openView('C3');
    await workbench.runCommand('C3: Refresh');
    await workbench.treeItem(await workbench.openView('C3'), `Run ${BIG_RUN}`).click();
    await workbench.treeItem(await workbench.openView('C3'), 'Step 1').click();
    const episode = workbench.treeItem(await workbench.openView('C3'), 'Question 7');
    await episode.waitFor();
    // The panel that a click on the run opens may take the keyboard until it is there.
    await (await workbench.webview('Episodes')).locator('.listed').getByText('1 problem', { exact: true }).waitFor();
    before = memory === undefined ? 0 : await heap(workbench.page);
    await workbench.treeItem(await workbench.openView('C3'), 'Step 1').focus();
    await workbench.page.keyboard.press('ArrowDown');
    const focused = (await workbench.openView('C3')).locator('.monaco-list-row.focused');
    await focused.filter({ hasText: 'Question 7' }).waitFor();
    const start = Date.now();
    await workbench.page.keyboard.press('Enter');
    const transcript = await workbench.webview(TITLE);
    await transcript.locator('[role="treeitem"]:not([aria-busy])').first().waitFor();
    const first = await eventually('the first row', () =>
      evaluate<number | undefined>(
        transcript,
        'performance.getEntriesByName("c3: first rows").map(({ startTime }) => performance.timeOrigin + startTime)[0]',
      ),
    );
    const origin = await evaluate<number>(transcript, 'performance.timeOrigin');
    console.log(
      `first rows ${Math.round(first - start)} ms after the key; the panel's page began after ${Math.round(origin - start)} ms`,
    );
    await transcript.getByText(`${messages.toLocaleString('en')} messages`).waitFor();
    await settled(transcript);
    const selected = transcript.locator('[role="treeitem"][aria-selected="true"]');
    await selected.waitFor();
    assert.ok((await transcript.getByRole('treeitem').count()) < 100, 'rows are drawn only where they can be seen');
    assertQuiet(workbench);
  });

  scenario('scrolled at any speed no place is left blank, and at rest every row is there', async (workbench) => {
    const transcript = await workbench.webview(TITLE);
    const tree = transcript.getByRole('tree');
    for (const [pixels, most] of speeds) {
      await tree.press('Home');
      await settled(transcript);
      const { frames, missing, waiting, milliseconds } = await evaluate<Scrolled>(
        transcript,
        `(${SCROLL})(${pixels}, ${most})`,
      );
      console.log(
        `${pixels} pixels a frame: ${frames} frames in ${milliseconds} ms, ${missing} with a blank place, ${waiting} with a row on its way`,
      );
      assert.equal(missing, 0, `a blank place at ${pixels} pixels a frame`);
      assert.ok(frames > 20);
      await settled(transcript);
    }
    await tree.press('End');
    await transcript.getByRole('treeitem', { name: `answer ${plans - 1}.${BIG_WIDTH - 1}` }).waitFor();
    await settled(transcript);
    assert.ok((await transcript.getByRole('treeitem').count()) < 100);
    if (memory !== undefined) {
      await assertMemory(workbench, transcript, before, memory);
    }
  });

  scenario(
    'a filter shows its own rows wherever the tree was scrolled to, none blank, and keeps the place; so does its end',
    async (workbench) => {
      const transcript = await workbench.webview(TITLE);
      // Every plan has answers of both returns, so that these are the plans.
      const returns = transcript.getByRole('combobox', { name: 'Return' });
      const seen = (): Promise<readonly string[]> =>
        evaluate(
          transcript,
          `[...document.querySelectorAll('.row')].filter((row) => row.getBoundingClientRect().bottom > document.querySelector('[role="tree"]').getBoundingClientRect().top).sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((row) => row.id + ' ' + row.getAttribute('aria-label'))`,
        );
      // In the row of the question, and in an answer of a plan: rows are the question, then each plan with its answers.
      for (const [pixels, above] of [
        [5, null],
        [(1 + plan * (BIG_WIDTH + 1) + 4) * ROW_HEIGHT + 7, plan],
      ] as const) {
        await evaluate(transcript, `document.querySelector('[role="tree"]').scrollTop = ${pixels}`);
        await settled(transcript);
        for (const choice of ['Won in part', 'Any return']) {
          await returns.click();
          const [{ missing }] = await Promise.all([
            evaluate<Scrolled>(transcript, `(${SCROLL})(0, 90)`),
            transcript.getByRole('option', { name: choice, exact: true }).click(),
          ]);
          assert.equal(missing, 0, 'a blank place');
          await eventually(
            'the filter',
            async () => ((await transcript.locator('.matching').innerText()) === '') === (choice === 'Any return'),
          );
          await settled(transcript);
          const [first, second] = await seen();
          const from = above ?? 0;
          const index = choice === 'Any return' ? 1 + from * (BIG_WIDTH + 1) : 1 + from;
          const position = (of: number): string => `reasoner ${of + 1} of ${plans}: plan ${of}:`;
          if (above === null) {
            assert.ok(
              first?.startsWith('row-0 Question') && second?.startsWith(`row-1 ${position(0)}`),
              `${String(first)}, ${String(second)}`,
            );
          } else {
            assert.ok(first?.startsWith(`row-${index} ${position(above)}`), first);
          }
          assert.equal(
            await evaluate(transcript, 'document.querySelector(\'[role="tree"]\').scrollTop'),
            above === null ? 5 : index * ROW_HEIGHT + 7,
          );
        }
      }
      const [, clicked] = await seen();
      await transcript.locator(`#${String(clicked?.split(' ')[0])}`).click();
      await transcript.locator('.message-text', { hasText: `answer ${plan}.0` }).waitFor();
    },
  );

  scenario('where it was scrolled to comes back after it was hidden', async (workbench) => {
    const transcript = await workbench.webview(TITLE);
    const top = (panel: FrameLocator): Promise<number> =>
      evaluate(panel, 'document.querySelector(\'[role="tree"]\').scrollTop');
    const place = 12 * messages + 7;
    await evaluate(transcript, `document.querySelector('[role="tree"]').scrollTop = ${place}`);
    await settled(transcript);
    // A place is kept once scrolling rests, or the keyboard leaves the panel; here the page has heard of the scrolling.
    await evaluate(transcript, 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    await workbench.tab('Episodes').click();
    await workbench.webview('Episodes');
    await workbench.page.locator('.tabs-container [role="tab"][aria-label^="Question 7"]').click();
    for (const loadAnew of reloads ? [false, true] : [false]) {
      if (loadAnew) {
        await reloadWindow(workbench);
      }
      const shown = await workbench.webview(TITLE);
      await shown.locator('[role="treeitem"]:not([aria-busy])').first().waitFor();
      await eventually('the place scrolled to', async () => (await top(shown)) === place);
      await settled(shown);
    }
  });

  scenario('a search counts every hit, and Enter asks at once', async (workbench) => {
    const transcript = await workbench.webview(TITLE);
    const field = transcript.getByRole('searchbox', { name: 'Search messages' });
    const hits = transcript.locator('.hits');
    await transcript.getByRole('tree').press('Home');
    // What the generator wrote, counted here by its own rule.
    const everywhere = plans * BIG_WIDTH;
    const needles = plans / NEEDLES_APART;
    for (const [query, total] of [
      ['needle', needles],
      ['answer', everywhere],
      ['nothing like it', 0],
    ] as const) {
      await field.fill('');
      await eventually('no words', async () => (await hits.innerText()) === '');
      // Typed and entered in one go, and timed in the page until the count is there.
      const took = await evaluate<number>(
        transcript,
        `new Promise((done) => {
        const field = document.querySelector('.search-field');
        field.value = ${JSON.stringify(query)};
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        const start = performance.now();
        field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
        const look = () => { if (document.querySelector('.hits').textContent !== '') done(performance.now() - start); else requestAnimationFrame(look); };
        look();
      })`,
      );
      console.log(`"${query}" counted ${took.toFixed(0)} ms after Enter`);
      await eventually(`the hits of ${query}`, async () =>
        (await hits.innerText()).includes(total === 0 ? 'no match' : `/ ${total.toLocaleString('en')}`),
      );
    }
    await field.fill('needle');
    const selected = transcript.locator('[role="treeitem"][aria-selected="true"]');
    await transcript.locator('[role="treeitem"][aria-selected="true"][aria-label*="answer 3.4"]').waitFor();
    await eventually('the first hit', async () => (await hits.innerText()).startsWith(`1 / ${needles}`));
    await field.press('Shift+Enter');
    await eventually('the last hit', async () => (await hits.innerText()).startsWith(`${needles} / ${needles}`));
    await eventually('its row', async () =>
      (await selected.getAttribute('aria-label'))?.includes(`answer ${plans - NEEDLES_APART + 3}.4 `),
    );
    await settled(transcript);
    await field.fill('');
  });

  scenario('a link opens any of its messages', async (workbench) => {
    await workbench.closeAllEditors();
    const ids = reading(workbench, (store) =>
      store
        .outline({ run: BIG_RUN, phase: 'train', iteration: 1, problem: '7'.padStart(64, '0') })
        .messages.map(({ id }) => id),
    );
    assert.equal(ids.length, messages);
    for (const place of links) {
      const id = ids[place] ?? 0;
      const { text } = reading(workbench, (store) => store.message(id));
      await workbench.runCommandAndAnswer(
        'Developer: Open URL',
        `code-oss://${EXTENSION_ID}/message/${id}?run=${BIG_RUN}&folder=${encodeURIComponent(workbench.folder)}`,
      );
      await workbench.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Open', exact: true }).click();
      const asked = Date.now();
      const transcript = await workbench.webview(TITLE);
      await transcript.locator(`[role="treeitem"][aria-selected="true"][aria-label*=": ${text.trim()};"]`).waitFor();
      console.log(`message ${id} in sight ${Date.now() - asked} ms after the link was allowed`);
      await settled(transcript);
      await transcript.locator('.message-text', { hasText: text.trim() }).first().waitFor();
    }
    assertQuiet(workbench);
  });

  scenario(
    'Arrow Left goes to the message above, though it is many rows away, and its text is never markup',
    async (workbench) => {
      await openFromEpisodes(workbench, 'question:"Question 8"', 'Run broad');
      const transcript = await workbench.webview(/^Question 8/u);
      const tree = transcript.getByRole('tree');
      await transcript.locator('[aria-label^="reasoner 1 of 2"]').waitFor();
      await tree.press('End');
      await transcript.locator(`.active[aria-label*="answer 1.${BROAD - 1};"]`).waitFor();
      await tree.press('ArrowLeft');
      await transcript.locator('.active[aria-label^="reasoner 2 of 2"]').waitFor();
      await settled(transcript);
      await tree.press('Home');
      const plan = transcript.getByRole('treeitem', { name: 'reasoner 1 of 2: <b>plan 0</b>' });
      await plan.waitFor();
      assert.equal(await plan.locator('b').count(), 0);
      // Folding hides rows that were never loaded.
      await tree.press('ArrowDown');
      await tree.press('ArrowLeft');
      await tree.press('ArrowDown');
      await transcript.locator('.active[aria-label^="reasoner 2 of 2"]').waitFor();
      assertQuiet(workbench);
    },
  );
}
