/** What a row of the transcript tree shows of its message. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { learnedFrom } from '../../../src/domain/message.ts';
import type { Credit } from '../../../src/shared/credit/credit.ts';
import type { Headline } from '../../../src/shared/credit/headline.ts';
import type { MarkedRow } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { makeDocument, MadeElement } from './madeDocument.ts';

makeDocument();
const { rowElement, describeRow: rowLabel } = await import('../../../webview/transcript/tree/row.ts');

const LEARNED: Credit = {
  estimator: 'magrpo',
  value: 0.21875,
  low: null,
  high: null,
  n: 2,
  evaluatorCalls: 6,
  interval: 'none',
};
const ALONE: Headline = {
  ...LEARNED,
  estimator: 'loo',
  value: 0,
  effectiveN: 0,
  reused: 0,
  copies: 1,
  verdict: 'alone',
  more: null,
  reason: null,
};
const ROW: MarkedRow = {
  index: 2,
  depth: 2,
  parent: 1,
  descendants: 0,
  message: 47,
  key: 47,
  lane: null,
  role: 'main',
  turn: 0,
  position: 1,
  siblings: 1,
  text: 'def main(): return 1',
  finish: 'end',
  return: 0.5,
  leaves: 2,
  credit: ALONE,
  branch: false,
  match: true,
  outcome: null,
  events: null,
  verification: null,
  other: null,
};
const STATE = { folded: false, active: false, selected: false, compared: false };

function creditOf(row: MarkedRow): { readonly words: string; readonly title: string | undefined } {
  const element: unknown = rowElement(row, STATE, '');
  assert.ok(element instanceof MadeElement);
  const cell = element.all().find(({ className }) => className.split(' ').includes('credit'));
  return { words: cell?.textContent ?? '', title: cell?.attributes.get('title') };
}

test('a message that nothing was compared with has what training learned from it, said to be that', () => {
  assert.deepEqual(creditOf({ ...ROW, learned: LEARNED }), {
    words: '+0.22training',
    title: 'training credit +0.22, n = 2, by magrpo; no other message was sampled here',
  });
  assert.match(rowLabel({ ...ROW, learned: LEARNED }), /return 0\.50; training credit \+0\.22, n = 2, by magrpo;/u);
  assert.equal(creditOf(ROW).words, '–');
  const compared: Headline = { ...ALONE, value: 0.5, n: 8, verdict: 'undecided' };
  assert.match(
    creditOf({ ...ROW, credit: compared, learned: LEARNED }).title ?? '',
    /^training credit \+0\.22, n = 2, by magrpo; credit \+0\.50, interval not measured, n = 8, undecided/u,
  );
});

test('what training learned stands in for a credit only where there is none', () => {
  assert.equal(learnedFrom({ credit: ALONE, trainingCredit: LEARNED }), LEARNED);
  assert.equal(learnedFrom({ credit: { ...ALONE, verdict: 'undecided' }, trainingCredit: LEARNED }), null);
  assert.equal(learnedFrom({ credit: null, trainingCredit: LEARNED }), null);
  assert.equal(learnedFrom({ credit: ALONE, trainingCredit: null }), null);
});

test('a voter says in its row, and to a screen reader, what it did to the vote', () => {
  const vote = { message: 47, role: 'main', answer: 'B', chosen: true, without: ['C'], pivotal: true, contribution: 1 };
  const row: MarkedRow = { ...ROW, vote: { ...vote, shapley: 0.5 } };
  const element: unknown = rowElement(row, STATE, '');
  assert.ok(element instanceof MadeElement);
  const chip = element.all().find(({ className }) => className === 'voted pivotal');
  assert.equal(chip?.textContent, 'decides +1.00');
  assert.match(
    chip.attributes.get('title') ?? '',
    /^Answers B, which the vote chose\. Without it the vote chooses C\./u,
  );
  assert.match(rowLabel(row), /^main, decides \+1\.00: def main/u);
});
