/** The panel of a trial, its documents, the drafts of prompts, and what is refused before anything starts. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_CHANGE, type Trial } from '../../../../src/domain/trial.ts';
import {
  formatCasePath,
  formatCaseText,
  LastTrial,
  type KeptTrial,
} from '../../../../src/extension/trial/keptTrial.ts';
import {
  parsePromptPath,
  PromptDrafts,
  formatPromptPath,
  normalizePrompt,
} from '../../../../src/extension/trial/promptDrafts.ts';
import {
  findServerAddressFault,
  findModelNameFault,
  findPricesFault,
  findRunFault,
  findSnapshotFault,
} from '../../../../src/extension/trial/trialFaults.ts';
import { TrialSession } from '../../../../src/extension/trial/trialSession.ts';
import type { TRIAL_PANEL, TrialFromHost } from '../../../../src/shared/protocols/trialProtocol.ts';
import { PageInHand } from '../webview/pageInHand.ts';

const TRIAL: Trial = {
  run: 'run-1',
  contexts: 8,
  difference: { value: 0.1, low: -0.1, high: 0.3, n: 20 },
  better: 3,
  worse: 1,
  same: 16,
  masked: 0,
  cases: [
    {
      question: 'How many?',
      before: {
        return: 0,
        messages: [
          { role: 'reasoner', text: 'a' },
          { role: 'actor', text: '3' },
        ],
      },
      after: {
        return: 1,
        messages: [
          { role: 'reasoner', text: 'b' },
          { role: 'actor', text: '4' },
        ],
      },
    },
  ],
  problems: [{ question: 'How many?', pairs: 20, before: 0.4, after: 0.5 }],
  evaluatorCalls: 40,
  tokens: { before: 60, after: 80 },
  seconds: 2,
  most: 1,
  sentence: 'Undecided: +10 points.',
};
const LAST: KeptTrial = {
  number: 7,
  title: 'Mine',
  change: { ...NO_CHANGE, prompts: { actor: 'Act.' } },
  budget: 40,
  trial: TRIAL,
  kept: null,
};

/** What the workspace keeps. */
function keeping(initial: Readonly<Record<string, unknown>> = {}) {
  const kept = new Map<string, unknown>(Object.entries(initial));
  return {
    kept,
    get: (key: string) => kept.get(key),
    update: (key: string, value: unknown) => {
      kept.set(key, value);
      return Promise.resolve();
    },
  };
}

function opened(last: KeptTrial = LAST) {
  const page = new PageInHand<typeof TRIAL_PANEL, TrialFromHost>();
  const done: unknown[] = [];
  const note =
    (name: string) =>
    (...given: readonly unknown[]): Promise<void> => {
      done.push([name, ...given]);
      return Promise.resolve();
    };
  const session = new TrialSession(last, page, {
    openCase: note('case'),
    keep: note('keep'),
    tryAgain: note('again'),
    editPrompt: note('edit'),
  });
  return { page, session, done };
}

describe('the panel of a trial', () => {
  it('shows what was tried and what came of it, without what was said', async () => {
    const { page, session } = opened();
    await page.send(session, { type: 'ready' });
    const { trial } = page.last('trial');
    assert.deepEqual(
      [trial.run, trial.change, trial.prompt, trial.isOpen, trial.kept, trial.cases],
      ['Mine', 'another prompt of actor', 'actor', true, null, [{ question: 'How many?', before: 0, after: 1 }]],
    );
    assert.ok(!JSON.stringify(page.posted).includes('reasoner'));
    session.show({ ...LAST, kept: 'team.c3.yaml' });
    assert.equal(page.last('trial').trial.kept, 'team.c3.yaml');
  });

  it('offers more pairs only where they may decide it', async () => {
    for (const [difference, isOpen] of [
      [{ value: 0.2, low: 0.1, high: 0.3, n: 20 }, false],
      [{ value: -0.2, low: -0.3, high: -0.1, n: 20 }, false],
      [{ value: 0, low: -1, high: 1, n: 0 }, false],
      [{ value: 0.1, low: 0, high: 0.3, n: 20 }, true],
    ] as const) {
      const { page, session } = opened({ ...LAST, trial: { ...TRIAL, difference } });
      await page.send(session, { type: 'ready' });
      assert.equal(page.last('trial').trial.isOpen, isOpen);
    }
  });

  it('does with the trial what its page asks, and nothing with what it has not', async () => {
    const { page, session, done } = opened();
    await page.send(session, { type: 'openCase', index: 1 });
    await page.send(session, { type: 'openCase', index: 0 });
    await page.send(session, { type: 'keep' });
    await page.send(session, { type: 'further' });
    await page.send(session, { type: 'lost' });
    await page.send(session, { type: 'edit' });
    assert.deepEqual(done, [
      ['case', LAST, 0],
      ['keep', LAST],
      ['again', LAST, 80, 'all'],
      ['again', LAST, 40, 'lost'],
      ['edit', 'run-1', 'actor'],
    ]);
    // More pairs are of the same problems.
    const lost: KeptTrial = { ...LAST, problems: 'lost' };
    const onLost = opened(lost);
    await onLost.page.send(onLost.session, { type: 'ready' });
    assert.equal(onLost.page.last('trial').trial.isOnLost, true);
    await onLost.page.send(onLost.session, { type: 'further' });
    assert.deepEqual(onLost.done, [['again', lost, 80, 'lost']]);
    const other = opened({ ...LAST, change: { ...NO_CHANGE, sampling: { topK: 1 } } });
    await other.page.send(other.session, { type: 'edit' });
    assert.deepEqual(other.done, []);
    assert.deepEqual(page.failures, []);
  });
});

describe('the last trial', () => {
  it('is there again after a reload; one that is too long, or damaged, is not', async () => {
    const keeper = keeping();
    await new LastTrial(keeper).set(LAST);
    assert.deepEqual(new LastTrial(keeper).value, LAST);
    const [only] = TRIAL.cases;
    assert.ok(only);
    const long = { ...LAST, trial: { ...TRIAL, cases: [{ ...only, question: 'x'.repeat(500_000) }] } };
    const last = new LastTrial(keeper);
    await last.set(long);
    assert.equal(last.value, long);
    assert.equal(new LastTrial(keeper).value, null);
    assert.equal(new LastTrial(keeping({ 'c3.trial': { ...LAST, trial: {} } })).value, null);
    assert.equal(new LastTrial(keeping({ 'c3.trial': { ...LAST, problems: 'some' } })).value, null);
  });

  it('has a document for each side of a pair', () => {
    assert.equal(
      formatCaseText(LAST, formatCasePath(LAST, 0, 'without')),
      '──── question\nHow many?\n──── reasoner\na\n──── actor\n3\n──── return\n0\n',
    );
    assert.match(formatCaseText(LAST, formatCasePath(LAST, 0, 'with')), /reasoner\nb\n[^]*return\n1\n$/u);
    for (const [last, path] of [
      [LAST, formatCasePath(LAST, 1, 'with')],
      [LAST, formatCasePath({ ...LAST, number: 6 }, 0, 'with')],
      [LAST, 'x'],
      [null, formatCasePath(LAST, 0, 'with')],
    ] as const) {
      assert.match(formatCaseText(last, path), /not kept any more/u);
    }
  });
});

describe('the prompt of a role', () => {
  it('is found by the address of its document', () => {
    for (const place of [
      { run: 'c3-0-1', role: 'reasoner' },
      { run: 'a/b', role: 'x/../y %2F\\' },
    ]) {
      const path = formatPromptPath(place);
      assert.deepEqual(parsePromptPath(path), place);
      assert.equal(path.split('/').length, 4, path);
    }
    for (const path of ['/', '/run/role', '/%zz/role/x', '/run/role/x/y']) {
      assert.equal(parsePromptPath(path), null, path);
    }
  });

  it('is kept as a draft when it is saved, and the oldest is forgotten', async () => {
    const keeper = keeping({ 'c3.prompts': [{ run: 1 }, { run: 'r', role: 'old', text: 'Old.' }] });
    const drafts = new PromptDrafts(keeper);
    assert.equal(drafts.of({ run: 'r', role: 'old' }), 'Old.');
    await drafts.set({ run: 'r', role: 'a' }, 'One.');
    await drafts.set({ run: 'r', role: 'a' }, 'Two.');
    assert.equal(drafts.of({ run: 'r', role: 'a' }), 'Two.');
    assert.equal(drafts.of({ run: 'other', role: 'a' }), null);
    for (let index = 0; index < 19; index++) {
      await drafts.set({ run: 'r', role: String(index) }, 'x');
    }
    assert.equal(drafts.of({ run: 'r', role: 'a' }), 'Two.');
    assert.equal(drafts.of({ run: 'r', role: 'old' }), null);
  });

  it('has no end of line that only the editor added', () => {
    assert.equal(normalizePrompt('Plan.\r\nWell.\n', 'Plan.'), 'Plan.\nWell.');
    assert.equal(normalizePrompt('Plan.\n', 'Plan it.\n'), 'Plan.\n');
    assert.equal(normalizePrompt('Plan.\r\nWell.', 'Plan.\r\nIt.'), 'Plan.\r\nWell.');
  });
});

describe('what cannot be tried', () => {
  const reader = (method: string, evaluations: number): Parameters<typeof findRunFault>[0] => ({
    run: () => ({ title: 'Mine', method }),
    evaluations: () => Array.from({ length: evaluations }, () => ({})),
  });

  it('is a run without an evaluation, unless it was recorded elsewhere', () => {
    assert.match(findRunFault(reader('c3', 0), 'run-1') ?? '', /"Mine" has no evaluation/u);
    assert.equal(findRunFault(reader('c3', 1), 'run-1'), null);
    assert.equal(findRunFault(reader('imported', 0), 'run-1'), null);
  });

  it('is a server without an address or a name of its model', () => {
    for (const text of ['https://api.example.com/v1', ' http://127.0.0.1:8000/v1/ ']) {
      assert.equal(findServerAddressFault(text), null, text);
    }
    for (const [text, words] of [
      ['', /^The address must be an address such as https:/u],
      ['api.example.com', /^The address must be an address such as https:/u],
      ['https://me:secret@api.example.com', /^The address must have no name, key or query in it/u],
    ] as const) {
      assert.match(findServerAddressFault(text) ?? '', words, text);
    }
    assert.deepEqual([findModelNameFault('gpt-4.1'), findModelNameFault('m'.repeat(200))], [null, null]);
    for (const text of ['', ' ', 'm'.repeat(201)]) {
      assert.match(findModelNameFault(text) ?? '', /^The name of a model on the server has 1 to 200 /u);
    }
    assert.deepEqual(['', ' ', '2, 8'].map(findPricesFault), [null, null, null]);
    assert.match(findPricesFault('2') ?? '', /^Two prices, such as 2, 8, or nothing\.$/u);
  });

  it('is a snapshot that the run has not', () => {
    const snapshots = ['abcd12', 'abcd34', 'ef56ab'];
    for (const text of ['0', ' 3 ', 'ef56', 'abcd1']) {
      assert.equal(findSnapshotFault(text, 3, snapshots), null, text);
    }
    for (const [text, words] of [
      ['4', /has 3 steps/u],
      ['', /^A step from 0 to 3/u],
      ['ab', /^A step from 0 to 3/u],
      ['abcd', /Several/u],
      ['ffff', /no such snapshot/u],
      ['last week', /^A step/u],
    ] as const) {
      assert.match(findSnapshotFault(text, 3, snapshots) ?? '', words, text);
    }
  });
});
