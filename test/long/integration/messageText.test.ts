/**
 * How the text of a message is read in the transcript: prose, code and mathematics set apart, to the letter on demand,
 * hits of a search in sight.
 */

import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { findings } from '../../integration/axe.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { CODE, openTexts, RICH, rowOf, textOf } from '../../integration/messageTexts.ts';
import { assertQuiet, frameOf } from '../../integration/team.ts';

const ROW = '[role="treeitem"]';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

scenario(
  'mathematics is loaded when a message has some, and is MathML; code is in letters of one width, prose does not; money is no mathematics',
  async (workbench) => {
    const transcript = await openTexts(workbench);
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
    await workbench.screenshot('message-text');
    assert.deepEqual(await findings(transcript), []);
    await transcript.locator(`${ROW}[aria-label^="Question"]`).click();
    await text.locator('math').nth(1).waitFor();
    assert.ok((await text.innerText()).includes('for at most $20?'));
    assertQuiet(workbench);
  },
);

scenario('what is copied is what was written', async (workbench) => {
  const transcript = await openTexts(workbench);
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
    const transcript = await openTexts(workbench);
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
    await workbench.tab('Episodes').click();
    await workbench.webview('Episodes');
    const again = await openTexts(workbench);
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

scenario('the code of the answering role is in letters of one width as a whole', async (workbench) => {
  const transcript = await openTexts(workbench);
  const text = textOf(transcript);
  await rowOf(transcript, 'def f').click();
  await text.getByText('def f(n)').waitFor();
  assert.equal(await text.evaluate((element) => element.textContent), CODE);
  assert.ok(await text.evaluate((element) => element.classList.contains('as-written')));
});

scenario('a search steps to its words inside a long message', async (workbench) => {
  const transcript = await openTexts(workbench);
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
