import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { summaryWords } from '../../../src/engine/words.ts';
import type { RunSummary } from '../../../src/shared/records.ts';

const NOTHING = { before: null, after: null, difference: null };
const SUMMARY: RunSummary = {
  run: 'c3-0-1', method: 'c3', seed: 0, steps: 2, evaluatorCalls: 48, tokens: { prompt: 3, reused: 1, completion: 2 }, decisions: { reasoner: 4 },
  accuracy: NOTHING, passAt1: NOTHING, seconds: 1, store: '/store',
};
const callsOf = (summary: RunSummary): string | undefined => summaryWords(summary).split('\n').find((line) => line.includes('evaluator calls'));

describe('summaryWords', () => {
  it('names calls that interruptions lost, apart from those that the run has', () => {
    assert.equal(callsOf({ ...SUMMARY, lostEvaluatorCalls: 24 }), '  evaluator calls   48, and at most 24 more whose results were lost in interruptions');
    // None were lost, or a run that was stored before they were counted.
    for (const summary of [{ ...SUMMARY, lostEvaluatorCalls: 0 }, SUMMARY]) assert.equal(callsOf(summary), '  evaluator calls   48');
  });

  it('says how many episodes could not be scored, where there are any', () => {
    assert.match(summaryWords({ ...SUMMARY, maskedEpisodes: 3 }), /\n {2}not scored +3 episodes: the evaluator failed; they count nowhere\n/);
    for (const summary of [{ ...SUMMARY, maskedEpisodes: 0 }, SUMMARY]) assert.doesNotMatch(summaryWords(summary), /not scored/);
  });
});
