/** Enumerated teams, and searches for what lost their episodes. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { benchBlame } from '../../../src/bench/experiments/blame/blameBench.ts';
import { searchEnumerated, computeTruth } from '../../../src/bench/experiments/blame/blameSearch.ts';
import {
  drawPair,
  drawLostEpisode,
  Numbers,
  TEAM_KINDS,
} from '../../../src/bench/experiments/blame/enumeratedTeams.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';

describe('enumerated teams', () => {
  it('are chains of 2 to 8 of every kind, whose drops add up to the return less the chance at the start', () => {
    const episodes = Array.from({ length: 7 * TEAM_KINDS.length }, (_, number) => drawLostEpisode(number));
    assert.deepEqual(new Set(episodes.map(({ team }) => team.kind)).size, TEAM_KINDS.length);
    assert.deepEqual([...new Set(episodes.map(({ team }) => team.messages))].toSorted(), [2, 3, 4, 5, 6, 7, 8]);
    for (const episode of episodes) {
      const { points, drops } = computeTruth(episode);
      const sum = drops.reduce((total, drop) => total + drop, 0);
      assert.ok(Math.abs(sum + (points[0] ?? NaN)) < 1e-9);
    }
  });

  it('give pairs whose mean difference is the drop', () => {
    for (const number of [0, 3, 4, 5, 15]) {
      const episode = drawLostEpisode(number);
      const { drops } = computeTruth(episode);
      for (const [place, drop] of drops.entries()) {
        const numbers = new Numbers(34, 100 * number + place);
        const draws = Array.from({ length: 2000 }, () => drawPair(episode, place, numbers));
        const mean = draws.reduce((sum, [own, fresh]) => sum + own - fresh, 0) / draws.length;
        assert.ok(Math.abs(mean - drop) < 0.06, `${mean} for ${drop}`);
      }
    }
  });

  it('show a search that is the same again, keeps to its budget, and names what lost most', () => {
    const found = searchEnumerated(drawLostEpisode(0), 'search', 1000, 0);
    assert.deepEqual(searchEnumerated(drawLostEpisode(0), 'search', 1000, 0), found);
    assert.deepEqual([found.verdict, found.isWrong], ['message', false]);
    const short = searchEnumerated(drawLostEpisode(5), 'in turn', 32, 5);
    assert.ok(short.calls < 32 + 16, String(short.calls));
  });

  it('are measured until somebody cancels', async () => {
    const notes: string[] = [];
    const options = { quick: true, signal: new AbortController().signal, note: (line: string) => notes.push(line) };
    const { figures } = await benchBlame({ ...options, note: (line) => void notes.push(line) }, 12);
    assert.equal(figures[0]?.value, 0);
    assert.ok((figures.find(({ name }) => name === 'intervals that hold the truth')?.value ?? 0) >= 94);
    const signal = makeSignalAbortedWhen(() => true);
    await assert.rejects(benchBlame({ ...options, signal, note: () => undefined }, 12), /Cancelled/u);
  });
});
