import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { computeStoredCost } from '../../../src/replay/storedCost.ts';
import type { EpisodeCost, PositionCost } from '../../../src/store/types.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';

const VOTERS = new URL('../../../media/examples/voters.json', import.meta.url);
const protocol = parseProtocol(readFileSync(VOTERS, 'utf8'), 'voters.json');
const AT: PositionCost = {
  role: 'voter',
  position: 0,
  environment: 1,
  messages: 6,
  promptTokens: 60,
  reusedTokens: 20,
  completionTokens: 12,
  reusedCompletionTokens: 2,
};
const ended = (origin: EpisodeCost['origin'], episodes: number, evaluatorCalls: number): EpisodeCost => ({
  origin,
  position: 3,
  episodes,
  evaluatorCalls,
});

test('closing events count as evaluated, once for each episode of their origin, less those that were reused', () => {
  const episodes = [ended(null, 5, 3), ended('request', 7, 7)];
  const own = computeStoredCost([AT], episodes, null, protocol);
  assert.deepEqual(
    [own.evaluatorCalls, own.reusedEvaluations, own.decisions, own.tokens],
    [3, 2, { voter: 6 }, { prompt: 60, reused: 20, completion: 12, reusedCompletion: 2 }],
  );
  assert.equal(computeStoredCost([], episodes, 'request', protocol).evaluatorCalls, 7);
  assert.equal(computeStoredCost([], episodes, 'diagnostic', protocol).evaluatorCalls, 0);
});
