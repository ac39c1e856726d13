/**
 * How the text of a message is read in the transcript: prose, code and mathematics set apart, to the letter on demand,
 * hits of a search in sight.
 */
import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addMessage, LEDGER, METRICS } from '../unit/extension/storeFixture.ts';
import { findings } from './axe.ts';
import { eventually, workbenchScenarios, type Theme, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, frameOf, openFromEpisodes, storeOf, TINY } from './team.ts';

const QUESTION = 'How many ways are there to choose $k$ of $n$ players for at most $20?';
const RICH = `First write the number of ways as \\( \\binom{n}{k} \\), then use the identity

\\[ \\sum_{k=0}^{n} \\binom{n}{k} = 2^n, \\qquad \\int_0^1 x^2 \\, dx = \\frac{1}{3} \\]

A ticket costs $5, and two cost $10; with \`math.comb(n, k)\` the program is

\`\`\`python
import math

def ways(n: int, k: int) -> int:
    return math.comb(n, k)
\`\`\`

A matrix: $$\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}$$ and the answer is \\boxed{\\frac{n!}{k!\\,(n-k)!}}.`;
const HOSTILE = `$\\href{https://c3-canary.invalid}{x}$ $\\includegraphics{https://c3-canary.invalid/a.png}$ $<script>globalThis.c3Canary=1</script>$ $\\def\\a{\\a\\a}\\a$ $\\htmlClass{a}{x}$ $\\fcolorbox{red}{red}{x}$ \\(${'{'.repeat(900)}x${'}'.repeat(900)}\\) $x\u202e$ but $y^2$`;
const DEEP = `${'Many words come first. '.repeat(400)}\nHere stands the needle.\n${'And many follow. '.repeat(400)}`;
const CODE = 'def f(n):\n    # $n$ of `them`\n    return n * 2';
const SNAPSHOT = 'a'.repeat(64);
const ROW = '[role="treeitem"]';
const THEMES: readonly Theme[] = ['light', 'highContrast', 'dark'];

const scenario = workbenchScenarios({ files: { 'tiny.c3.yaml': TINY } });

let prepared = false;
const asked: string[] = [];

async function openTranscript(workbench: Workbench): Promise<FrameLocator> {
  if (!prepared) {
    prepared = true;
    workbench.page.on('request', (request) => {
      if (request.url().includes('c3-canary')) {
        asked.push(request.url());
      }
    });
    const run = String((await c3(workbench.folder, 'run', 'tiny.c3.yaml'))['run']);
    const writer = openStoreForWriting(storeOf(workbench.folder));
    try {
      const instance = {
        uid: 'texts',
        uidSha: 'e'.repeat(64),
        question: QUESTION,
        answer: '',
        source: 'made',
        level: 1,
        tests: { tests: ['assert f(1) == 2'], test: '', entryPoint: null, setup: '', prefix: '' },
      };
      writer.insertInstances([instance]);
      writer.insertSnapshot({ id: SNAPSHOT, run, iteration: 3, base: SNAPSHOT, file: null });
      writer.insertStep({ run, iteration: 3, snapshot: SNAPSHOT, ledger: LEDGER });
      writer.transaction(() => {
        const bucket = writer.insertBucket({
          run,
          origin: 'training',
          iteration: 3,
          instance: instance.uidSha,
          eventType: 'reasoner',
          turn: 0,
          contextKey: '1',
          snapshot: SNAPSHOT,
          message: null,
        });
        [RICH, HOSTILE, DEEP, 'Nothing but prose.'].forEach((text, index) => {
          const plan = addMessage(writer, {
            run,
            iteration: 3,
            instance,
            role: 'reasoner',
            position: 0,
            parent: null,
            bucket,
            index,
            text,
          });
          const leaf = addMessage(writer, {
            run,
            iteration: 3,
            instance,
            role: 'actor',
            position: 1,
            parent: plan,
            bucket: null,
            index: 0,
            text: CODE,
          });
          writer.insertEpisode({
            run,
            phase: 'train',
            iteration: 3,
            instance: instance.uidSha,
            leaf,
            return: index % 2,
            rule: 'tests',
            evaluatorCalls: 1,
          });
        });
      });
      writer.finishStep(run, 3, METRICS, LEDGER);
    } finally {
      writer.close();
    }
    await workbench.openView('C3');
    await workbench.runCommand('C3: Refresh');
  }
  const tab = workbench.page.locator('.tabs-container [role="tab"][aria-label^="How many"]');
  if ((await tab.count()) > 0) {
    await tab.click();
  } else {
    await openFromEpisodes(workbench, 'uid:texts');
  }
  const transcript = await workbench.webview(/^How many/u);
  await transcript.locator(`${ROW}:not([aria-busy])`).nth(3).waitFor();
  return transcript;
}

const textOf = (transcript: FrameLocator): Locator => transcript.getByRole('group', { name: 'Text', exact: true });
const rowOf = (transcript: FrameLocator, beginning: string): Locator =>
  transcript.locator(`${ROW}[aria-label*="${beginning}"]`).first();

scenario(
  'mathematics is loaded when a message has some, and is MathML; code is in letters of one width, prose does not; money is no mathematics',
  async (workbench) => {
    const transcript = await openTranscript(workbench);
    const frame = await frameOf(transcript);
    const text = textOf(transcript);
    await rowOf(transcript, 'Nothing but prose').click();
    await text.getByText('Nothing but prose.').waitFor();
    assert.equal(await frame.evaluate('typeof c3Mathematics'), 'undefined', 'a message of prose does not pay for it');
    await rowOf(transcript, 'First write').click();
    await text.locator('math').nth(3).waitFor();
    assert.equal(await text.locator('math').count(), 4);
    assert.ok((await text.locator('math[display="block"] munderover, math[display="block"] msubsup').count()) > 0);
    assert.equal(await text.locator('menclose').count(), 1);
    assert.ok((await text.innerText()).includes('A ticket costs $5, and two cost $10;'));
    const fontOf = (place: Locator): Promise<string> =>
      place.first().evaluate((element) => getComputedStyle(element).fontFamily);
    const [prose, block, line] = await Promise.all(
      [text, text.locator('.code-block code'), text.locator('.code-span')].map(fontOf),
    );
    assert.equal(block, line);
    assert.notEqual(prose, block);
    for (const theme of THEMES) {
      await workbench.screenshot('message-text', theme);
      const grave = (await findings(transcript)).filter(({ impact }) => impact === 'serious' || impact === 'critical');
      assert.deepEqual(grave, [], theme);
    }
    const { width, height } = workbench.page.viewportSize() ?? { width: 1280, height: 900 };
    await workbench.page.setViewportSize({ width: 800, height });
    await text.locator('menclose').scrollIntoViewIfNeeded();
    await workbench.screenshot('message-text-end-800');
    await workbench.page.setViewportSize({ width, height });
    await transcript.locator(`${ROW}[aria-label^="Question"]`).click();
    await text.locator('math').nth(1).waitFor();
    assert.ok((await text.innerText()).includes('for at most $20?'));
    assertQuiet(workbench);
  },
);

scenario('what is copied is what was written', async (workbench) => {
  const transcript = await openTranscript(workbench);
  const text = textOf(transcript);
  await rowOf(transcript, 'First write').click();
  await text.locator('math').nth(3).waitFor();
  const copied = await text.evaluate((element) => {
    document.getSelection()?.selectAllChildren(element);
    const data = new DataTransfer();
    element.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
    document.getSelection()?.removeAllRanges();
    return data.getData('text/plain');
  });
  assert.equal(copied, RICH.replaceAll(/```(?:python)?\n/gu, '').replaceAll('`', ''));
});

scenario(
  'as written: by mouse and by keyboard, to the letter, and kept by a panel that was hidden',
  async (workbench) => {
    const transcript = await openTranscript(workbench);
    const text = textOf(transcript);
    const toggle = transcript.getByRole('button', { name: 'As written' });
    await rowOf(transcript, 'First write').click();
    await text.locator('math').first().waitFor();
    await toggle.click();
    await eventually(
      'the text to the letter',
      async () => (await text.evaluate((element) => element.textContent)) === RICH,
    );
    assert.equal(await text.locator('math, code').count(), 0);
    assert.equal(await toggle.getAttribute('aria-pressed'), 'true');
    await workbench.screenshot('message-text-as-written');
    await workbench.runCommand('C3: Open run dashboard');
    await workbench.webview('Run dashboard');
    const again = await openTranscript(workbench);
    await eventually(
      'the text to the letter, again',
      async () => (await textOf(again).evaluate((element) => element.textContent)) === RICH,
    );
    const back = again.getByRole('button', { name: 'As written' });
    assert.equal(await back.getAttribute('aria-pressed'), 'true');
    await back.focus();
    await back.press('Enter');
    await textOf(again).locator('math').first().waitFor();
    assert.equal(await back.getAttribute('aria-pressed'), 'false');
    await again.getByRole('tree').press('x');
    await eventually(
      'the text to the letter, by its key',
      async () => (await textOf(again).evaluate((element) => element.textContent)) === RICH,
    );
    await again.getByRole('tree').press('x');
    await textOf(again).locator('math').first().waitFor();
  },
);

scenario('hostile mathematics is text, and nothing of it is executed or asked for', async (workbench) => {
  const transcript = await openTranscript(workbench);
  const text = textOf(transcript);
  await rowOf(transcript, '\\\\href').click();
  // Until the message is here, the pane shows the one before.
  await text.getByText('\\includegraphics').first().waitFor();
  await text.locator('math').first().waitFor();
  const words = await text.innerText();
  for (const part of [
    '$\\href{https://c3-canary.invalid}{x}$',
    '\\includegraphics',
    '\\def\\a{\\a\\a}\\a',
    '\\htmlClass',
    '\\fcolorbox',
    '⟨U+202E⟩',
  ]) {
    assert.ok(words.includes(part), part);
  }
  assert.equal(await text.locator('a, img, script, [href], [style]').count(), 0);
  assert.equal(await (await frameOf(transcript)).evaluate('globalThis.c3Canary'), undefined);
  assert.deepEqual(asked, []);
  await workbench.screenshot('message-text-hostile');
  assertQuiet(workbench);
});

scenario('the code of the answering role is in letters of one width as a whole', async (workbench) => {
  const transcript = await openTranscript(workbench);
  const text = textOf(transcript);
  await rowOf(transcript, 'def f').click();
  await text.getByText('def f(n)').waitFor();
  assert.equal(await text.evaluate((element) => element.textContent), CODE);
  assert.ok(await text.evaluate((element) => element.classList.contains('as-written')));
});

scenario('a search steps to its words inside a long message', async (workbench) => {
  const transcript = await openTranscript(workbench);
  await transcript.locator(`${ROW}[aria-label^="Question"]`).click();
  await transcript.getByRole('tree').press('/');
  const field = transcript.getByRole('searchbox', { name: 'Search messages' });
  await field.fill('needl');
  const mark = textOf(transcript).locator('mark');
  await mark.waitFor();
  assert.equal(await mark.innerText(), 'needle');
  const inSight = (): Promise<boolean> =>
    mark.evaluate((element) => {
      const own = element.getBoundingClientRect();
      const around = element.closest('.message-text')?.getBoundingClientRect();
      return around !== undefined && own.top >= around.top && own.bottom <= around.bottom && own.bottom <= innerHeight;
    });
  await eventually('the word in sight', inSight);
  await workbench.screenshot('message-text-hit');
  await textOf(transcript).evaluate((element) => {
    element.scrollTop = 0;
  });
  await field.press('Enter');
  await eventually('the word in sight, again', inSight);
  await field.fill('');
  await eventually('no word marked', async () => (await mark.count()) === 0);
});
