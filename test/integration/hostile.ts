/**
 * Messages, questions, labels, titles and roles that want to be more than text: each is shown as text wherever it comes
 * up, nothing of it is executed, and no request goes out for it.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { FrameLocator, Locator } from 'playwright-core';
import { loadSqlite } from '../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { headline, setHeadlines } from '../support/headlines.ts';
import { tamper } from '../support/tamper.ts';
import { addMessage, addRequest, LEDGER, METRICS } from '../unit/extension/storeFixture.ts';
import { eventually, type workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, frameOf, openFromEpisodes, openLane, storeOf, unfold } from './team.ts';

const SCRIPT = '<script>globalThis.c3Canary=1</script>';
const IMAGE = '<img src="https://c3-canary.invalid/a.png" onerror="globalThis.c3Canary=1">';
const LINKS = '[run](command:c3.startRun) [file](file:///etc/passwd)';
const HOSTILE = `${SCRIPT}${IMAGE} ${LINKS} $(trash) \u202eesrever\u202c \u001b[31mred\u001b[0m \ud800 end`;
const TITLE = `Hostile ${SCRIPT} ${LINKS} $(trash) \u202eesrever`;
/** What of HOSTILE acts unseen, as a panel shows it; the store has a mark of its own for half of a character. */
const MARKS = ['⟨U+202E⟩esrever⟨U+202C⟩', '⟨U+001B⟩[31mred⟨U+001B⟩[0m'] as const;
const ROLE = '<b>role</b> [x](command:c3.startRun) $(trash)';
const LABEL = '<i>label</i> [x](command:c3.startRun)';
const SNAPSHOT = 'a'.repeat(64);
const ROW = '[role="treeitem"]';

let run = '';
let first = 0;
const asked: string[] = [];

/** Gives the recorded run the hostile title; its id. */
function giveTitle(folder: string): string {
  const db = new (loadSqlite())(storeOf(folder));
  tamper(db, `UPDATE run SET title = '${TITLE}', config = json_set(config, '$.title', '${TITLE}')`);
  db.close();
  const store = openStoreForReading(storeOf(folder));
  try {
    return store.runs(0, 1)[0]?.id ?? '';
  } finally {
    store.close();
  }
}

/** A run with a hostile title, and beside its own messages one tree in which everything is hostile. */
async function prepare(workbench: Workbench, line: number): Promise<void> {
  if (run !== '') {
    return;
  }
  workbench.page.on('request', (request) => {
    if (request.url().includes('c3-canary')) {
      asked.push(request.url());
    }
  });
  run = giveTitle(workbench.folder);
  const writer = openStoreForWriting(storeOf(workbench.folder));
  try {
    const problem = {
      uid: HOSTILE,
      uidSha: 'f'.repeat(64),
      question: `Which? ${HOSTILE}`,
      answer: HOSTILE,
      source: HOSTILE,
      level: 1,
    };
    writer.insertProblems([problem]);
    writer.insertSnapshot({ id: SNAPSHOT, run, iteration: 3, base: SNAPSHOT, file: null });
    writer.insertStep({ run, iteration: 3, snapshot: SNAPSHOT, ledger: LEDGER });
    let said: readonly number[] = [];
    writer.transaction(() => {
      const bucket = writer.insertBucket({
        run,
        origin: 'training',
        iteration: 3,
        problem: problem.uidSha,
        role: ROLE,
        turn: 0,
        contextKey: '1',
        snapshot: SNAPSHOT,
        message: null,
      });
      const say = (role: string, position: number, parent: number | null, index: number, text: string): number =>
        addMessage(writer, {
          run,
          iteration: 3,
          problem,
          role,
          position,
          parent,
          bucket: parent === null ? bucket : null,
          index,
          text,
        });
      const plans = [`0 ${HOSTILE}`, `1 ${HOSTILE} other`, 'x'.repeat(line)].map((text, index) =>
        say(ROLE, 0, null, index, text),
      );
      for (const [index, plan] of plans.entries()) {
        const leaf = say('actor', 1, plan, 0, `answer ${HOSTILE}`);
        writer.insertEpisode({
          run,
          phase: 'train',
          iteration: 3,
          problem: problem.uidSha,
          leaf,
          return: index === 1 ? 1 : 0,
          rule: HOSTILE,
          evaluatorCalls: 1,
        });
        writer.insertCredit(bucket, plan, {
          estimator: 'loo',
          value: index === 1 ? 1 : -0.5,
          low: null,
          high: null,
          n: 3,
          evaluatorCalls: 3,
          interval: 'none',
        });
      }
      first = plans[0] ?? 0;
      said = plans;
    });
    setHeadlines(
      writer.path,
      said.map((plan, index) => ({
        message: plan,
        credit: headline(index === 1 ? 1 : -0.5, { low: null, high: null, n: 3, evaluatorCalls: 3 }),
      })),
    );
    addRequest(writer, first, [`2 ${HOSTILE}`], [1]);
    writer.insertLabel({
      message: first,
      bucket: null,
      name: LABEL,
      note: HOSTILE,
      author: 'you',
      createdAt: '2026-01-03T00:00:00.000Z',
    });
    writer.finishStep(run, 3, METRICS, LEDGER);
  } finally {
    writer.close();
  }
  await workbench.openView('C3');
  await workbench.runCommand('C3: Refresh');
}

/** Nothing was executed, nothing asked for, and no text has become an element. */
async function assertHarmless(workbench: Workbench, panel?: FrameLocator): Promise<void> {
  for (const frame of workbench.page.frames()) {
    assert.equal(await frame.evaluate('globalThis.c3Canary').catch(() => undefined), undefined, frame.url());
  }
  assert.deepEqual(asked, []);
  if (panel !== undefined) {
    assert.deepEqual(
      await (
        await frameOf(panel)
      ).evaluate(
        '[...document.querySelectorAll("#app :is(img, script, b, i, a[href], iframe)")].map((element) => element.outerHTML)',
      ),
      [],
    );
  }
  assertQuiet(workbench);
}

async function assertText(place: Locator, ...parts: readonly string[]): Promise<void> {
  await place.first().waitFor();
  await eventually(`the text of ${parts.join(' ')}`, async () => {
    const text = (await place.first().innerText()).replaceAll('\u00a0', ' ').replaceAll('\u200b', '');
    return parts.every((part) => text.includes(part));
  });
}

/** Nothing in a place acts unseen: no control that turns text around, no escape, half of no character. */
async function assertDisarmed(place: Locator): Promise<void> {
  for (const text of await place.allTextContents()) {
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u001b\p{Cs}]/u.test(text), JSON.stringify(text));
  }
}

async function openTranscript(workbench: Workbench, line: number): Promise<FrameLocator> {
  await prepare(workbench, line);
  const tab = workbench.page.locator('.tabs-container [role="tab"][aria-label^="Which?"]');
  if ((await tab.count()) > 0) {
    await tab.click();
  } else {
    await openFromEpisodes(workbench, 'question:Which?');
  }
  const transcript = await workbench.webview(/^Which\?/u);
  await transcript.locator(`${ROW}:not([aria-busy])`).nth(3).waitFor();
  return transcript;
}

export interface HostileTexts {
  /** Everywhere, or in the side bar and the transcript alone. */
  readonly everywhere: boolean;
  /** Characters of the message that is one line. */
  readonly line: number;
}

/** Declares where hostile texts come up, on a window with the recording "arithmetic". */
export function hostileTexts(
  scenario: ReturnType<typeof workbenchScenarios>,
  { everywhere, line }: HostileTexts,
): void {
  scenario('the side bar and the lists to pick from show text', async (workbench) => {
    await prepare(workbench, line);
    const view = await workbench.openView('C3');
    const title = workbench.treeItem(view, 'Hostile');
    await assertText(title, SCRIPT, LINKS, '$(trash)');
    await unfold(title);
    await unfold(workbench.treeItem(view, 'Step 3'));
    const episode = workbench.treeItem(view, 'Which?');
    await assertText(episode, SCRIPT);
    const buckets = await workbench.openView('C3', 'Buckets');
    const bucket = workbench.treeItem(buckets, '<b>role</b>');
    await assertText(bucket, '$(trash)');
    for (const [row, ...parts] of [
      [title, SCRIPT, LINKS],
      [episode, SCRIPT, LINKS],
      [bucket, SCRIPT, LINKS],
    ] as const) {
      const tip = workbench.page.locator('.workbench-hover-container').filter({ hasText: parts[0] });
      // The editor shows no tip for a pointer that was there before the row was drawn anew, and takes one away that it
      // has shown: all of it is read while it is there.
      const { text, elements } = await eventually('the tip of a row', async () => {
        await workbench.page.mouse.move(700, 5);
        await row.hover();
        await tip.waitFor({ timeout: 3_000 });
        return tip
          .first()
          .evaluate(
            (shown) => ({
              text: shown.textContent,
              elements: shown.querySelectorAll('a, b, img, script, .codicon-trash').length,
            }),
            undefined,
            { timeout: 3_000 },
          );
      });
      for (const part of parts) {
        assert.ok(text.replaceAll('\u00a0', ' ').replaceAll('\u200b', '').includes(part), text);
      }
      assert.equal(elements, 0, 'a tip is text');
    }
    assert.equal(await workbench.page.locator('.part.sidebar .monaco-list-row .codicon-trash').count(), 0);
    await workbench.screenshot('hostile-sidebar');
    await workbench.page.mouse.move(700, 5);
    const found = workbench.page
      .locator('.quick-input-widget:visible .monaco-list-row')
      .filter({ hasText: '<b>role</b>' });
    await eventually('the list of messages', async () => {
      await workbench.runCommand('C3: Find message');
      const input = workbench.page.locator('.quick-input-widget:visible input.input');
      await input.fill('esrever', { timeout: 10_000 });
      await found.first().waitFor({ timeout: 10_000 });
      return true;
    });
    await assertText(found, '$(trash)', SCRIPT);
    assert.equal(
      await workbench.page.locator('.quick-input-widget:visible .monaco-list-row .codicon-trash').count(),
      0,
    );
    await workbench.screenshot('hostile-find');
    await workbench.page.keyboard.press('Escape');
    await assertHarmless(workbench);
  });

  scenario(
    'the transcript shows text in its rows, in full, among alternatives, in a search and where branches part',
    async (workbench) => {
      const transcript = await openTranscript(workbench, line);
      const tree = transcript.getByRole('tree');
      await transcript.locator(`${ROW}[aria-label^="Question"]`).click();
      await assertText(transcript.locator('.message-text'), SCRIPT, IMAGE, LINKS, '$(trash)', ...MARKS);
      const plan = transcript.locator(`${ROW}[aria-label*="1 of 3: 0 <script>"]`);
      await assertText(plan, ROLE, SCRIPT);
      assert.ok((await plan.getAttribute('aria-label'))?.includes(MARKS[0]));
      assert.ok((await plan.locator('.row-text').textContent())?.includes(MARKS[0]));
      await plan.click();
      await assertText(transcript.locator('.message-text'), SCRIPT, IMAGE, LINKS, ...MARKS);
      await assertText(transcript.getByRole('region', { name: 'Replayed alternatives' }), SCRIPT, ...MARKS);
      await assertDisarmed(transcript.locator('.row-text, .message-text, .alternative-text'));
      await workbench.screenshot('hostile-transcript');
      // A row keeps its columns, whatever its text turns around.
      const [name, value] = await Promise.all(
        [plan.locator('.row-text'), plan.locator('.credit')].map((part) => part.boundingBox()),
      );
      assert.ok(
        name !== undefined && name !== null && value !== undefined && value !== null && name.x + name.width <= value.x,
      );
      await tree.press('/');
      await transcript.getByRole('searchbox', { name: 'Search messages' }).fill('esrever');
      await transcript.locator(`${ROW} mark`).first().waitFor();
      assert.deepEqual(
        [...new Set(await transcript.locator(`${ROW} mark, .message-text mark`).allTextContents())],
        ['esrever'],
        'a hit is marked beside the mark of what stands before it',
      );
      await transcript.locator('.message-text mark').first().waitFor();
      await transcript.getByRole('searchbox', { name: 'Search messages' }).fill('');
      await plan.click();
      await tree.press('c');
      await transcript.locator(`${ROW}[aria-label*="2 of 3: 1 <script>"]`).click();
      await tree.press('c');
      await assertText(transcript.getByRole('region', { name: 'Comparison' }), SCRIPT, ROLE, ...MARKS);
      await assertDisarmed(transcript.locator('.comparison .message-text'));
      await workbench.screenshot('hostile-comparison');
      await assertHarmless(workbench, transcript);
      await tree.press('d');
      const diff = workbench.page.locator('.monaco-diff-editor');
      await assertText(diff.locator('.editor.modified .view-lines'), SCRIPT, LINKS);
      await workbench.screenshot('hostile-diff');
      await workbench.closeEditor();
      await assertHarmless(workbench);
    },
  );

  if (!everywhere) {
    return;
  }

  scenario('a long line is shown, in full and in the diff editor, and its row stays a row', async (workbench) => {
    const transcript = await openTranscript(workbench, line);
    const row = transcript.locator(`${ROW}[aria-label*="3 of 3: xxxx"]`);
    await row.click();
    await eventually(
      'all of it',
      async () =>
        (await transcript
          .locator('.message-text', { hasText: 'xxxxxxxxxx' })
          .first()
          .evaluate((element) => element.textContent.length)) === line,
    );
    assert.equal((await row.boundingBox())?.height, 22);
    await transcript.getByRole('tree').press('c');
    await transcript.locator(`${ROW}[aria-label*="1 of 3: 0 <script>"]`).click();
    await transcript.getByRole('tree').press('c');
    // The comparison of the scenario before is here until the new one is drawn.
    await transcript
      .getByRole('region', { name: 'Comparison' })
      .getByText(`${(line + Array.from(`answer ${HOSTILE}`).length).toLocaleString('en-US')} characters`)
      .waitFor();
    await transcript.getByRole('tree').press('d');
    await workbench.page.locator('.monaco-diff-editor .editor.original .view-lines', { hasText: 'xxxxxxxx' }).waitFor();
    await workbench.closeEditor();
    await assertHarmless(workbench);
  });

  scenario(
    'the context of a message shows its text token by token, what cannot be seen by its code',
    async (workbench) => {
      await prepare(workbench, line);
      // The actor of the bundled team gets to read the message.
      const store = openStoreForReading(storeOf(workbench.folder));
      const [episode] = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 1 });
      const plan = store.chain(episode?.leaf ?? 0)[0]?.id ?? 0;
      store.close();
      const told = await c3(
        workbench.folder,
        'replay',
        String(plan),
        '--alternatives',
        '0',
        '--replays',
        '1',
        '--text',
        `${SCRIPT}\u202e\u001b[31m`,
      );
      const again = openStoreForReading(storeOf(workbench.folder));
      const leaf =
        again.replaysOfBucket(Number(told['bucket'])).find(({ alternative }) => alternative !== plan)?.leaf ?? 0;
      const { question } = again.problem(again.fullMessage(leaf).problem);
      again.close();
      assert.ok(leaf > 0);
      await workbench.runCommand('C3: Refresh');
      const view = await workbench.openView('C3');
      await unfold(workbench.treeItem(view, 'Hostile'));
      await unfold(workbench.treeItem(view, 'Step 1'));
      await workbench.treeItem(view, question.slice(0, 30)).click();
      const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
      await openLane(transcript, 'reasoner');
      const branch = transcript.locator(`${ROW}[aria-label*="${SCRIPT}"]`);
      await branch.click();
      await transcript.getByRole('tree').press('ArrowDown');
      await transcript.getByRole('tree').press('t');
      const editor = workbench.page.locator('.editor-instance .monaco-editor .view-lines').first();
      await eventually('rows of tokens', async () =>
        /^ *0 +\d+ +([0-9a-f]{2} )+ *│.*│/mu.test((await editor.innerText()).replaceAll('\u00a0', ' ')),
      );
      await editor.click();
      await workbench.page.keyboard.press('Control+f');
      await workbench.page.locator('.find-widget textarea').first().fill('⟨U+202E⟩');
      await workbench.page.locator('.find-widget .matchesCount', { hasText: /of [1-9]/u }).waitFor();
      await workbench.page.keyboard.press('Escape');
      await workbench.closeEditor();
      await assertHarmless(workbench);
    },
  );

  scenario('taxonomy and dashboard show text', async (workbench) => {
    await prepare(workbench, line);
    await workbench.runCommand('C3: Inspect failure taxonomy');
    const taxonomy = await workbench.webview('Failure taxonomy');
    const row = taxonomy.locator('.cases > li').filter({ hasText: 'Which?' }).first();
    await assertText(row, SCRIPT, ROLE, ...MARKS);
    await row.locator('button.case').click();
    await taxonomy.getByRole('region', { name: 'Your label', exact: true }).waitFor();
    await assertText(taxonomy.locator('body'), TITLE.slice(0, 60));
    await workbench.screenshot('hostile-taxonomy');
    await assertHarmless(workbench, taxonomy);

    await workbench.runCommand('C3: Open run dashboard');
    const dashboard = await workbench.webview('Run dashboard');
    await dashboard.getByRole('figure', { name: `Training credit of ${ROLE}`, exact: true }).waitFor();
    await workbench.screenshot('hostile-dashboard');
    await assertHarmless(workbench, dashboard);
  });

  for (const subject of ['run', 'message'] as const) {
    scenario(`a report of a ${subject} shows text`, async (workbench) => {
      await prepare(workbench, line);
      const path = join(workbench.folder, `${subject}.html`);
      const id = subject === 'run' ? run : String(first);
      await c3(workbench.folder, 'report', `--${subject}`, id, '--out', path);
      const page = await workbench.otherPage();
      const requests: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith('file:')) {
          requests.push(request.url());
        }
      });
      await page.goto(`file://${path}`);
      await page.getByText(SCRIPT).first().waitFor({ state: 'attached' });
      assert.equal(await page.evaluate('globalThis.c3Canary'), undefined);
      assert.equal(await page.locator('script, img, iframe, a[href^="command:"], a[href^="file:"]').count(), 0);
      assert.deepEqual(requests, []);
      await page.close();
    });
  }
}
