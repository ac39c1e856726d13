/** Writing a run's configuration in the editor: suggestions, hovers, problems, quick fixes, planning and starting. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { eventually, Workbench, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, TINY } from './team.ts';

const BROKEN = `title: Broken
stepz: 3
ppo:
  lerning_rate: 0.1
method: magrop
learning_rate: 1
`;

const scenario = workbenchScenarios({
  files: {
    'tiny.c3.yaml': TINY,
    'broken.c3.yaml': BROKEN,
    'empty.c3.yaml': '# Mine\n',
    'elsewhere.c3.yaml': 'model: models/away\ntask:\n  train_file: data/train.jsonl\n',
    'data/train.jsonl': '{"question": "1 + 1?", "answer": "2"}\n',
    'shared.c3.yaml': 'task:\n  train_file: data/train.jsonl\n  evaluation_file: data/held.jsonl\n',
    'data/held.jsonl': '{"question": "1 +  1?", "answer": "2"}\n',
    'models/mine/config.json': '{}',
    'plain.yaml': 'stepz: 3\n',
  },
});

const SIZES = [
  [1280, 900],
  [800, 900],
] as const;

function lens(workbench: Workbench, title: string | RegExp): Locator {
  return workbench.page.locator('.codelens-decoration a').filter({ hasText: title }).first();
}

/**
 * Follows the line above the file. Whenever an extension starts to offer such lines, the editor asks anew where each
 * leads. It gives that up where its text loses the focus meanwhile, until the text has it again.
 */
async function followLens(workbench: Workbench, title: string): Promise<void> {
  await workbench.page.locator('.editor-instance .view-line').first().click();
  await lens(workbench, title).click();
}

function suggestion(workbench: Workbench, label: string): Locator {
  return workbench.page.locator(`.suggest-widget.visible .monaco-list-row[aria-label^="${label}"]`).first();
}

/** The text of the editor as it is shown. */
async function editorText(workbench: Workbench): Promise<string> {
  const lines = await workbench.page
    .locator('.editor-instance .view-line')
    .evaluateAll((elements) =>
      elements.map((element) => ({
        top: Number.parseFloat(element instanceof HTMLElement ? element.style.top : '0'),
        text: element.textContent.replaceAll('\u00a0', ' '),
      })),
    );
  return lines
    .sort((a, b) => a.top - b.top)
    .map(({ text }) => text)
    .join('\n');
}

/** @param prepare what has to be done anew after the theme or the width has changed */
async function pictures(workbench: Workbench, name: string, prepare?: () => Promise<void>): Promise<void> {
  await workbench.pictures(name, ['light', 'highContrast', 'dark'], SIZES, prepare);
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
}

async function closeAll(workbench: Workbench): Promise<void> {
  await workbench.runCommand('View: Revert and Close Editor');
  await workbench.closeAllEditors();
}

/** Rests on a word of the editor until what it means is shown; a line that is drawn anew meanwhile shows nothing. */
async function hoverOver(workbench: Workbench, word: RegExp, meaning: RegExp): Promise<void> {
  const hover = workbench.page.locator('.monaco-hover:visible').filter({ hasText: meaning });
  await eventually(`the meaning of ${String(word)}`, async () => {
    await workbench.page.mouse.move(700, 5);
    await workbench.page
      .locator('.editor-instance .view-line span', { hasText: word })
      .last()
      .hover({ timeout: 5_000 });
    await hover.waitFor({ timeout: 5_000 });
    return true;
  });
}

/** The rows of the Problems panel. */
async function problems(workbench: Workbench): Promise<Locator> {
  const panel = workbench.page.locator('.markers-panel');
  await workbench.runCommand('Problems: Focus on Problems View');
  await panel.waitFor();
  return panel.locator('.monaco-list-row');
}

scenario(
  'all problems of a configuration are in the Problems panel, each at its line and column, and quick fixes correct the keys',
  async (workbench) => {
    await workbench.openFile('broken.c3.yaml');
    await lens(workbench, '4 problems prevent this run from starting').waitFor();
    const rows = await problems(workbench);
    for (const [words, place] of [
      ['stepz: unknown key; did you mean steps?', '[Ln 2, Col 1]'],
      ['ppo.lerning_rate: unknown key; did you mean learning_rate?', '[Ln 4, Col 3]'],
      ['method: did you mean magrpo?', '[Ln 5, Col 9]'],
      [
        'learning_rate: unknown key here; write it as ppo: learning_rate or value_head: learning_rate.',
        '[Ln 6, Col 1]',
      ],
    ] as const) {
      await rows.filter({ hasText: words }).filter({ hasText: place }).first().waitFor();
    }
    await pictures(workbench, 'configuration-problems');
    // By keyboard: from the line above the file to the first problem, then the fix that is offered there.
    await followLens(workbench, '4 problems');
    await eventually('the first quick fix', async () => {
      await workbench.page.keyboard.press('Escape');
      await workbench.page.keyboard.press('Control+.');
      await workbench.page
        .locator('.action-widget .monaco-list-row', { hasText: 'Change to steps' })
        .waitFor({ timeout: 3_000 });
      return true;
    });
    await workbench.screenshot('configuration-fix');
    await workbench.page.keyboard.press('Enter');
    await eventually('the mended key', async () => (await editorText(workbench)).includes('\nsteps: 3\n'));
    await lens(workbench, '3 problems prevent this run from starting').waitFor();
    await closeAll(workbench);
    await rows.filter({ hasText: 'stepz' }).waitFor({ state: 'detached' });
    await workbench.runCommand('View: Toggle Panel Visibility');
  },
);

scenario(
  'keys, names and values are suggested with their meaning, and by keyboard alone a configuration is written',
  async (workbench) => {
    await workbench.openFile('empty.c3.yaml');
    await lens(workbench, 'Start this run').waitFor();
    await workbench.page.locator('.editor-instance .view-line').first().click();
    const { keyboard } = workbench.page;
    await keyboard.press('Control+End');
    await keyboard.type('meth');
    await suggestion(workbench, 'method').waitFor();
    await keyboard.press('Enter');
    // The names of the value are offered at once.
    await suggestion(workbench, 'magrpo').waitFor();
    await pictures(workbench, 'configuration-suggestions', async () => {
      // The list goes with the focus, which changing the theme takes.
      await keyboard.press('Escape');
      await eventually('the suggestions', async () => {
        await keyboard.press('Control+Space');
        await suggestion(workbench, 'magrpo').waitFor({ timeout: 5_000 });
        return true;
      });
      await keyboard.press('ArrowDown');
      const details = workbench.page.locator('.suggest-details');
      // The editor remembers whether they were shown, and takes a moment to show them; the key then hides them.
      await eventually('the details of a suggestion', async () => {
        // A busy editor may have closed the list meanwhile.
        if (!(await suggestion(workbench, 'magrpo').isVisible())) {
          await keyboard.press('Control+Space');
          await suggestion(workbench, 'magrpo').waitFor({ timeout: 2_000 });
          await keyboard.press('ArrowDown');
        }
        const shown = await details.waitFor({ timeout: 1_000 }).then(
          () => true,
          () => false,
        );
        if (!shown) {
          await keyboard.press('Control+Space');
        }
        await details.getByText('c3 without replays').waitFor({ timeout: 2_000 });
        return true;
      });
    });
    await keyboard.press('Escape');
    await keyboard.type('mag');
    await suggestion(workbench, 'magrpo').waitFor();
    await keyboard.press('Enter');
    await keyboard.press('Enter');
    await keyboard.type('samp');
    await suggestion(workbench, 'sampling').waitFor();
    await keyboard.press('Enter');
    await keyboard.type('temp');
    await suggestion(workbench, 'temperature').waitFor();
    await keyboard.press('Enter');
    await keyboard.type('0.5');
    await keyboard.press('Escape');
    await keyboard.press('Control+s');
    const file = join(workbench.folder, 'empty.c3.yaml');
    const text = await eventually('the saved file', async () => {
      const saved = await readFile(file, 'utf8');
      return saved.includes('temperature') && saved;
    });
    assert.equal(text, '# Mine\nmethod: magrpo\nsampling:\n  temperature: 0.5');
    assert.deepEqual([readConfig(text, file).method, readConfig(text, file).sampling.temperature], ['magrpo', 0.5]);
    await closeAll(workbench);
  },
);

scenario('resting on a key says what it means, its bounds and its default', async (workbench) => {
  await workbench.openFile('tiny.c3.yaml');
  await lens(workbench, 'Start this run').waitFor();
  await eventually('keys and values in the colours of YAML', async () => {
    const colours = await workbench.page
      .locator('.editor-instance .view-line')
      .filter({ hasText: 'steps' })
      .first()
      .locator('span span')
      .evaluateAll((spans) => spans.map((span) => getComputedStyle(span).color));
    return new Set(colours).size > 1;
  });
  await hoverOver(
    workbench,
    /^evaluator_budget$/u,
    /Evaluator calls per instance and step.*Whole number, above 0\. Default: 8\./su,
  );
  await workbench.screenshot('configuration-hover');
  await workbench.page.keyboard.press('Escape');
  await closeAll(workbench);
});

scenario('a path that is not there is said, and the folders that are there are suggested', async (workbench) => {
  await workbench.openFile('elsewhere.c3.yaml');
  // A missing model is a warning: it may come before the run is started.
  await lens(workbench, 'Start this run').waitFor();
  const rows = await problems(workbench);
  await rows.filter({ hasText: `There is no such folder: ${join(workbench.folder, 'models', 'away')}` }).waitFor();
  assert.equal(await rows.filter({ hasText: 'train.jsonl' }).count(), 0);
  await workbench.page.locator('.editor-instance .view-line').first().click();
  await workbench.page.keyboard.press('Control+Home');
  await workbench.page.keyboard.press('End');
  for (let letter = 0; letter < 'away'.length; letter++) {
    await workbench.page.keyboard.press('Backspace');
  }
  await workbench.page.keyboard.press('Control+Space');
  await suggestion(workbench, 'mine/').waitFor();
  await workbench.page.keyboard.press('Enter');
  await eventually('the chosen folder', async () => (await editorText(workbench)).includes('model: models/mine/'));
  await rows.filter({ hasText: 'There is no such folder' }).waitFor({ state: 'detached' });
  await workbench.page.keyboard.press('Escape');
  await closeAll(workbench);
  await workbench.runCommand('View: Toggle Panel Visibility');
});

scenario(
  'questions on both sides are in the Problems panel until they are gone, and keep the run from starting',
  async (workbench) => {
    await workbench.openFile('shared.c3.yaml');
    await lens(workbench, '1 problem prevents this run from starting').waitFor();
    const rows = await problems(workbench);
    const row = rows.filter({ hasText: '1 of 1 evaluation questions are also trained on' }).first();
    await row.filter({ hasText: '[Ln 3, Col 20]' }).waitFor();
    await workbench.screenshot('configuration-overlap');
    await writeFile(join(workbench.folder, 'data', 'held.jsonl'), '{"question": "2 + 2?", "answer": "4"}\n');
    // Data files are looked at again when the configuration is saved.
    await workbench.page.locator('.editor-instance .view-line').first().click();
    await workbench.page.keyboard.press('Control+End');
    await workbench.page.keyboard.type('steps: 1');
    await workbench.page.keyboard.press('Escape');
    await workbench.page.keyboard.press('Control+S');
    await row.waitFor({ state: 'detached' });
    await lens(workbench, 'Start this run').waitFor();
    await closeAll(workbench);
    await workbench.runCommand('View: Toggle Panel Visibility');
  },
);

scenario('the plan opens beside the configuration, of what is in the editor', async (workbench) => {
  await workbench.openFile('tiny.c3.yaml');
  await workbench.page.locator('.editor-instance .view-line').first().click();
  await workbench.page.keyboard.press('Control+End');
  await workbench.page.keyboard.type('checkpoint_every: 3');
  await workbench.page.keyboard.press('Escape');
  await lens(workbench, 'Plan memory and budget').click();
  await workbench.tab('C3 plan of tiny').waitFor();
  const plan = workbench.page
    .locator('.editor-instance .view-line')
    .filter({ hasText: 'Total: 2 steps and 2 evaluations' })
    .first();
  await plan.waitFor();
  assert.match(
    await readFile(join(workbench.folder, 'tiny.c3.yaml'), 'utf8'),
    /checkpoint_every: 3$/u,
    'it was saved before it was planned',
  );
  await pictures(workbench, 'configuration-plan');
  await workbench.closeAllEditors();
});

scenario(
  'a new configuration is a template that can be started, from nothing to the end of its run',
  async (workbench) => {
    await workbench.closeAllEditors();
    await workbench.runCommand('C3: New configuration');
    await workbench.tab('run.c3.yaml').waitFor();
    await lens(workbench, 'Start this run').waitFor();
    await workbench.screenshot('configuration-template');
    await followLens(workbench, 'Start this run');
    await workbench.pick('Quick');
    await lens(workbench, 'Queue this run').waitFor();
    const file = join(workbench.folder, 'run.c3.yaml');
    assert.equal(readConfig(await readFile(file, 'utf8'), file).title, 'My run');
    await workbench.runCommand('C3: Cancel run');
    await lens(workbench, 'Start this run').waitFor();
    await workbench.runCommand('C3: New configuration');
    await workbench.tab('run-2.c3.yaml').waitFor();
    await closeAll(workbench);
    assertQuiet(workbench);
  },
);

scenario('a YAML file that is no configuration is left alone', async (workbench) => {
  await workbench.openFile('plain.yaml');
  await workbench.statusBarItem('YAML').waitFor();
  assert.equal(await lens(workbench, 'Start this run').count(), 0);
  assert.equal(await workbench.page.locator('.editor-instance .squiggly-error').count(), 0);
  await closeAll(workbench);
});

scenario('each of the five steps of the walkthrough has an action that does it', async (workbench) => {
  const { page } = workbench;
  await workbench.closeAllEditors();
  const step = async (title: string, action: string): Promise<void> => {
    await eventually(
      `the step "${title}"`,
      async () => {
        // The page that is gone back to shows all walkthroughs.
        await workbench.runCommand('Welcome: Open Walkthrough...');
        await workbench.pick('Which message decided the outcome?', 5_000);
        const shown = page.locator('.getting-started-step').filter({ hasText: title });
        await shown.waitFor({ timeout: 5_000 });
        if ((await shown.getAttribute('aria-expanded')) !== 'true') {
          await shown.click({ timeout: 5_000 });
        }
        await page
          .locator('.getting-started-step.expanded')
          .getByRole('button', { name: action, exact: true })
          .click({ timeout: 5_000 });
        return true;
      },
      240_000,
    );
  };
  await page.setViewportSize({ width: 1280, height: 900 });
  await step('Run the bundled team', 'Run the bundled team');
  await workbench.pick('Quick');
  await workbench.notification('The run ended').waitFor({ timeout: 180_000 });
  await workbench.runCommand('Notifications: Clear All Notifications');
  await step('Read a transcript', 'Open transcript');
  const episodes = await workbench.webview('Episodes');
  await episodes.locator('.canvas .row:not([aria-busy])').first().waitFor();
  await episodes.getByRole('grid').press('Enter');
  await (await workbench.webview(/^(?!Episodes)/u)).locator('[role="treeitem"][aria-selected="true"]').waitFor();
  await step('See what another message would have done', 'Replay alternatives');
  // Of the message that was read: nothing is asked.
  await (await workbench.webview(/./u)).getByText('Replayed alternatives').first().waitFor({ timeout: 120_000 });
  await step('See how the team fails', 'Inspect failure taxonomy');
  await workbench.pick('Bundled team, arithmetic');
  await (await workbench.webview('Failure taxonomy')).getByRole('heading', { name: 'Failure taxonomy' }).waitFor();
  await step('Write your own configuration', 'New configuration');
  await lens(workbench, 'Start this run').waitFor();
  await workbench.runCommandAndPick('Welcome: Open Walkthrough...', 'Which message decided the outcome?');
  await eventually('five steps', async () => (await page.locator('.getting-started-step').count()) === 5);
  await workbench.pictures('walkthrough', ['light', 'highContrast', 'dark'], SIZES);
  await page.setViewportSize({ width: 1400, height: 900 });
});

test(
  'a folder that is not trusted is shown its problems and its hovers, and starts and plans nothing',
  { timeout: 900_000 },
  async () => {
    const workbench = await Workbench.open({
      server: { askForTrust: true },
      files: { 'broken.c3.yaml': BROKEN, 'elsewhere.c3.yaml': 'model: models/away\n' },
    });
    try {
      await workbench.statusBarItem('Restricted Mode').waitFor();
      await workbench.openFile('broken.c3.yaml');
      await lens(workbench, 'Starting and planning require a trusted workspace').waitFor();
      assert.equal(await lens(workbench, /Start this run|Plan memory/u).count(), 0);
      const rows = await problems(workbench);
      await rows.filter({ hasText: 'stepz: unknown key; did you mean steps?' }).waitFor();
      await workbench.openFile('elsewhere.c3.yaml');
      await lens(workbench, 'Starting and planning require a trusted workspace').waitFor();
      await hoverOver(workbench, /^model$/u, /A model folder/u);
      // What a path names is not looked for on the disk.
      assert.equal(await rows.filter({ hasText: 'There is no such folder' }).count(), 0);
      await workbench.screenshot('configuration-untrusted');
    } catch (error) {
      await workbench.saveFailure('untrusted configuration');
      throw error;
    } finally {
      await workbench.close();
    }
  },
);
