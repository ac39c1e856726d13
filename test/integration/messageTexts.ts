/** Messages of prose, code and mathematics, beside those of a recorded run. */

import type { FrameLocator, Locator } from 'playwright-core';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addMessage, LEDGER, METRICS } from '../unit/extension/storeFixture.ts';
import type { Workbench } from './harness/workbench.ts';
import { openFromEpisodes, storeOf } from './team.ts';

/** How the question begins. */
export const TEXTS_QUESTION = 'How many ways';
const QUESTION = 'How many ways are there to choose $k$ of $n$ players for at most $20?';
export const RICH = `First write the number of ways as \\( \\binom{n}{k} \\), then use the identity

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
export const CODE = 'def f(n):\n    # $n$ of `them`\n    return n * 2';
const SNAPSHOT = 'a'.repeat(64);

/** Adds one problem with four plans and an answer under each, as a step of the newest run of a folder's store. */
export function addTexts(folder: string, iteration = 3): void {
  const reader = openStoreForReading(storeOf(folder));
  const run = reader.runs(0, 1)[0]?.id ?? '';
  reader.close();
  const writer = openStoreForWriting(storeOf(folder));
  try {
    const problem = {
      uid: 'texts',
      uidSha: 'e'.repeat(64),
      question: QUESTION,
      answer: '',
      source: 'made',
      level: 1,
      tests: { tests: ['assert f(1) == 2'], test: '', entryPoint: null, setup: '', prefix: '' },
    };
    writer.insertProblems([problem]);
    writer.insertSnapshot({ id: SNAPSHOT, run, iteration, base: SNAPSHOT, file: null });
    writer.insertStep({ run, iteration, snapshot: SNAPSHOT, ledger: LEDGER });
    writer.transaction(() => {
      const bucket = writer.insertBucket({
        run,
        origin: 'training',
        iteration,
        problem: problem.uidSha,
        role: 'reasoner',
        turn: 0,
        contextKey: '1',
        snapshot: SNAPSHOT,
        message: null,
      });
      [RICH, HOSTILE, DEEP, 'Nothing but prose.'].forEach((text, index) => {
        const plan = addMessage(writer, {
          run,
          iteration,
          problem,
          role: 'reasoner',
          position: 0,
          parent: null,
          bucket,
          index,
          text,
        });
        const leaf = addMessage(writer, {
          run,
          iteration,
          problem,
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
          iteration,
          problem: problem.uidSha,
          leaf,
          return: index % 2,
          rule: 'tests',
          evaluatorCalls: 1,
        });
      });
    });
    writer.finishStep(run, iteration, METRICS, LEDGER);
  } finally {
    writer.close();
  }
}

let added = false;

/** The transcript of these messages, which are added first where the window's store has none. */
export async function openTexts(workbench: Workbench): Promise<FrameLocator> {
  if (!added) {
    added = true;
    addTexts(workbench.folder);
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
  await transcript.locator('[role="treeitem"]:not([aria-busy])').nth(3).waitFor();
  return transcript;
}

export const textOf = (transcript: FrameLocator): Locator =>
  transcript.getByRole('group', { name: 'Text', exact: true });
export const rowOf = (transcript: FrameLocator, beginning: string): Locator =>
  transcript.locator(`[role="treeitem"][aria-label*="${beginning}"]`).first();
