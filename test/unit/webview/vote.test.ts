import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ShownVote } from '../../../src/shared/transcript/shownVote.ts';
import { makeDocument, MadeElement } from './madeDocument.ts';

makeDocument();
const {
  describeTally: tallyWords,
  createVoteView: voteView,
  describeWithoutVoter: withoutWords,
} = await import('../../../webview/transcript/message/vote.ts');
const { describeVoter: voterSentences, describeVoterBriefly: voterWords } =
  await import('../../../webview/transcript/events.ts');

const TALLY = [
  { answer: 'B', votes: 2, chosen: true },
  { answer: 'A', votes: 1, chosen: false },
];
const VOTE: ShownVote = {
  voters: [
    {
      message: 7,
      role: 'voter1',
      answer: 'B',
      chosen: true,
      without: ['A', 'B'],
      pivotal: true,
      contribution: 0.5,
      shapley: 0.25,
    },
    {
      message: 8,
      role: 'voter2',
      answer: null,
      chosen: false,
      without: ['B'],
      pivotal: false,
      contribution: null,
      shapley: null,
    },
    {
      message: 9,
      role: 'voter3',
      answer: '<b>\u202e</b>',
      chosen: false,
      without: ['B'],
      pivotal: false,
      contribution: -0.25,
      shapley: 0,
    },
  ],
  tally: TALLY,
  ties: 'expected',
  tied: false,
  evaluatorCalls: 2,
};

function drawn(current: number, open: (message: number) => void = () => undefined): MadeElement {
  const element: unknown = voteView(VOTE, current, open);
  assert.ok(element instanceof MadeElement);
  return element;
}

it('the tally says votes, what is chosen, and what a tie comes to', () => {
  assert.equal(
    tallyWords({ tally: TALLY, tied: false, ties: 'abstain' }),
    'B: 2 votes, A: 1 vote. Chosen: B. Not tied; of a tie, none is chosen (ties: abstain).',
  );
  const tied = TALLY.map((one) => ({ ...one, votes: 1, chosen: true }));
  assert.match(tallyWords({ tally: tied, tied: true, ties: 'expected' }), /Chosen: B or A\. Tied; .*mean over them/u);
  const abstained = tied.map((one) => ({ ...one, chosen: false }));
  assert.match(tallyWords({ tally: abstained, tied: true, ties: 'abstain' }), /No answer is chosen\. Tied/u);
  assert.equal(tallyWords({ tally: [], tied: false, ties: 'first' }), 'No voter states an answer.');
});

it('without a voter the vote is the same, another, or none', () => {
  assert.equal(withoutWords({ without: ['B'], pivotal: false }), 'the same');
  assert.equal(withoutWords({ without: ['B', 'A'], pivotal: true }), 'B or A (pivotal)');
  assert.equal(withoutWords({ without: [], pivotal: true }), 'none (pivotal)');
});

it('a row says of each voter what it did to the vote, and its contribution where that is known', () => {
  assert.deepEqual(VOTE.voters.map(voterWords), ['decides +0.50', 'no answer', 'not chosen \u22120.25']);
  const against = { message: 7, role: 'voter5', answer: 'C', chosen: false, without: ['B'], pivotal: true };
  assert.equal(voterWords({ ...against, contribution: null, shapley: null }), 'changes the vote');
  const agrees = { message: 6, role: 'voter4', answer: 'B', chosen: true, without: ['B'], pivotal: false };
  assert.equal(voterWords({ ...agrees, contribution: 0, shapley: 0 }), 'with the vote 0.00');
  assert.deepEqual(VOTE.voters.map(voterSentences), [
    'Answers B, which the vote chose. Without it the vote chooses A or B. Contribution: +0.50.',
    'States no answer. Without it the vote chooses the same.',
    'Answers <b>⟨U+202E⟩</b>, which the vote did not choose. ' +
      'Without it the vote chooses the same. Contribution: \u22120.25.',
  ]);
});

it('the table has a row for each voter, the one on screen marked, the others opened by a button', () => {
  const opened: number[] = [];
  const view = drawn(8, (message) => opened.push(message));
  assert.equal(view.attributes.get('aria-label'), 'Vote');
  const rows = view.all().filter(({ localName }) => localName === 'tr');
  assert.deepEqual(
    rows.map((row) => row.children.map(({ textContent }) => textContent)),
    [
      ['Voter', 'Answer', 'Without it', 'Contribution', 'Shapley'],
      ['voter1', 'B', 'A or B (pivotal)', '+0.50', '+0.25'],
      ['voter2', 'no answer', 'the same', 'not measured', 'not measured'],
      ['voter3', '<b>⟨U+202E⟩</b>', 'the same', '−0.25', '0.00'],
    ],
  );
  assert.deepEqual(
    rows.map((row) => row.attributes.get('aria-current') ?? ''),
    ['', '', 'true', ''],
  );
  const buttons = view.all().filter(({ localName }) => localName === 'button');
  for (const button of buttons) {
    button.listeners.get('click')?.forEach((listener) => listener({}));
  }
  assert.deepEqual(opened, [7, 9]);
});

it('text of a model is no markup, and without a vote there is no view', () => {
  assert.ok(
    drawn(7)
      .all()
      .every(({ localName }) => localName !== 'b'),
  );
  assert.equal(
    voteView(null, 7, () => undefined),
    null,
  );
});
