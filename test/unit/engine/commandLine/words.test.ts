import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from '../../../../src/domain/message.ts';
import type { BucketView } from '../../../../src/domain/replay.ts';
import type { RunSummary } from '../../../../src/domain/run.ts';
import { formatBucket, formatFinding, formatSummary } from '../../../../src/engine/commandLine/words.ts';

const NOTHING = { before: null, after: null, difference: null };
const SUMMARY: RunSummary = {
  run: 'c3-0-1',
  method: 'c3',
  seed: 0,
  steps: 2,
  evaluatorCalls: 48,
  tokens: { prompt: 3, reused: 1, completion: 2 },
  decisions: { reasoner: 4 },
  accuracy: NOTHING,
  passAt1: NOTHING,
  seconds: 1,
  store: '/store',
};
const callsOf = (summary: RunSummary): string | undefined =>
  formatSummary(summary)
    .split('\n')
    .find((line) => line.includes('evaluator calls'));

describe('summaryWords', () => {
  it('names calls that interruptions lost, apart from those that the run has', () => {
    assert.equal(
      callsOf({ ...SUMMARY, lostEvaluatorCalls: 24 }),
      '  evaluator calls   48, and at most 24 more whose results were lost in interruptions',
    );
    // None were lost, or a run that was stored before they were counted.
    for (const summary of [{ ...SUMMARY, lostEvaluatorCalls: 0 }, SUMMARY]) {
      assert.equal(callsOf(summary), '  evaluator calls   48');
    }
  });

  it('says how many episodes could not be scored, where there are any', () => {
    assert.match(
      formatSummary({ ...SUMMARY, maskedEpisodes: 3 }),
      /\n {2}not scored +3 episodes: the evaluator failed; they are not counted\n/,
    );
    for (const summary of [{ ...SUMMARY, maskedEpisodes: 0 }, SUMMARY]) {
      assert.doesNotMatch(formatSummary(summary), /not scored/);
    }
  });
});

describe('findingWords', () => {
  const message = { id: 17, role: 'reasoner', text: '10*4+10' };
  const said = (text: string, returns: readonly (number | null)[], original = false) => ({
    text,
    returns,
    original,
    credit: null,
  });
  const linesOf = (alternatives: Parameters<typeof formatFinding>[2], tests = false): string[] => {
    const program = { tests: ['assert f()'], test: '', entryPoint: null, setup: '', prefix: '' };
    return formatFinding(
      { question: 'What is 10 * (4 + 10)?', answer: '140', ...(tests && { tests: program }) },
      message,
      alternatives,
    ).split('\n');
  };

  it('shows the question, what was expected, what was said, and the best that could have been said instead', () => {
    const lines = linesOf([
      said('10*4+10', [0, 0, 1, 0], true),
      said('10*(4+9)', [0, 0]),
      said('10*(4+10)', [1, null, 1]),
      said('10*14', [null]),
    ]);
    assert.deepEqual(lines, [
      'What one message was worth: message 17 by the reasoner, replayed in its exact context',
      '  question  What is 10 * (4 + 10)?',
      '  expected  140',
      '  message   10*4+10  (mean return 0.25 of 4)',
      '  instead   10*(4+10)  (mean return 1.00 of 2)',
      '  credit    not measured',
    ]);
  });

  it('does not call a copy of the message an alternative, and leaves a reference program out', () => {
    const lines = linesOf([said('10*4+10', [null], true), said('10*4+10', [1])], true);
    assert.deepEqual(lines.slice(2, 4), [
      '  message   10*4+10  (not scored)',
      '  instead   all sampled alternatives are the same text',
    ]);
  });

  it('shows hostile text on one line and bounded', () => {
    const words = formatFinding(
      { question: `first\nsecond\u001b[2J${'x'.repeat(999)}`, answer: '1' },
      { ...message, text: 'a\nb' },
      [],
    );
    assert.equal(words.split('\n').length, 6);
    assert.ok(!words.includes('\u001b') && words.split('\n').every((line) => line.length < 260));
  });
});

describe('bucketWords', () => {
  const one = (
    text: string,
    returns: readonly (number | null)[],
    original = false,
  ): BucketView['alternatives'][number] => ({
    message: 1,
    index: 0,
    text,
    original,
    tokenCount: 3,
    finish: 'end',
    returns,
    evaluatorCalls: 1,
    credit: null,
    bucketCredit: null,
    verified: null,
    verification: null,
  });
  const message: Message = {
    id: 7,
    run: 'r',
    phase: 'train',
    iteration: 1,
    problem: 'i',
    snapshot: 's',
    role: 'actor',
    turn: 0,
    position: 0,
    parent: null,
    bucket: 1,
    siblingIndex: 0,
    contextKey: '1',
    text: 'a',
    tokenCount: 3,
    finish: 'end',
    return: null,
    leaves: 0,
    credit: null,
    trainingCredit: null,
  };
  const lines = (alternatives: BucketView['alternatives']): string[] =>
    formatBucket(message, {
      id: 1,
      run: 'r',
      origin: 'request',
      iteration: 1,
      problem: 'i',
      role: 'actor',
      turn: 0,
      contextKey: '1',
      snapshot: 's',
      message: 7,
      alternatives,
      continuation: null,
    })
      .split('\n')
      .slice(1)
      .map((line) =>
        line
          .trim()
          .replaceAll(/ +/gu, ' ')
          .replace(/ credit.*/u, ''),
      );

  it('writes alternatives that say the same once, and the message itself apart', () => {
    assert.deepEqual(
      lines([one('a', [0, 1], true), one('b', [0, 1]), one('b', [0, 1]), one('a', [0, 1]), one('b', [0, 1])]),
      ['* a returns 0 1', 'b x3 returns 0 1', 'a returns 0 1'],
    );
    // In pairs each was continued on numbers of its own.
    assert.deepEqual(lines([one('b', [0]), one('b', [null]), one('b', [1])]), ['b x3 returns 0 masked 1']);
  });

  it('writes the mean of many returns', () => {
    assert.deepEqual(
      lines([
        one(
          'a',
          Array.from({ length: 40 }, (_, index) => (index < 10 ? 1 : 0)),
          true,
        ),
      ]),
      ['* a returns mean 0.25 of 40'],
    );
  });
});
