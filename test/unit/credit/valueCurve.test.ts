/** Episodes of enumerated teams: each message is one of four texts, equally likely; a table says what is returned. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { fitCurves } from '../../../src/credit/pooledCurves.ts';
import {
  estimateCallsToDecide,
  toCurveCounts,
  estimateCurve,
  decideAlone,
  decideTogether,
  estimateDrop,
  measureLosses,
  type CurveVerdict,
  type EpisodeSamples,
  type MessageSamples,
} from '../../../src/credit/valueCurve.ts';

const TEXTS = [0, 1, 2, 3];
const RANGE = { low: 0, high: 1 };

function randomFrom(seed: number): () => number {
  const stream = openStream(seed, 0);
  let position = 0;
  return () => uniform(stream, position++);
}

interface Team {
  readonly messages: number;
  /** What an episode returns, by the texts of its messages; a chance where the evaluator is noisy. */
  readonly returns: (texts: readonly number[]) => number;
}

/** The exact expectation below a beginning. */
function valueOf(team: Team, begun: readonly number[]): number {
  if (begun.length === team.messages) {
    return team.returns(begun);
  }
  return TEXTS.reduce((sum, text) => sum + valueOf(team, [...begun, text]), 0) / TEXTS.length;
}

/** All continuations of a beginning, each as likely as the others. */
function endsBelow(team: Team, begun: readonly number[]): number[] {
  return begun.length === team.messages
    ? [team.returns(begun)]
    : TEXTS.flatMap((text) => endsBelow(team, [...begun, text]));
}

/** Every pair that can be drawn of a message, each as often: as many for every message of a team of three. */
function allPairs(team: Team, episode: readonly number[], place: number): MessageSamples {
  const before = episode.slice(0, place);
  const terminal = place === team.messages - 1;
  const own = endsBelow(team, episode.slice(0, place + 1));
  const fresh = TEXTS.map((text) => endsBelow(team, [...before, text]));
  const once = fresh.flatMap((ends) => ends.map((end, index) => [own[index] ?? NaN, end] as const));
  const pairs = Array.from({ length: TEXTS.length ** 3 }, (_, index) => once[index % once.length] ?? assert.fail());
  return { terminal, pairs };
}

/** A search as the engine does it, eight pairs at a time. */
function search(
  team: Team,
  episode: readonly number[],
  budget: number,
  random: () => number,
): { readonly verdict: string; readonly places: readonly number[]; readonly calls: number } {
  const draw = (): number => Math.floor(random() * TEXTS.length);
  const score = (texts: readonly number[]): number => (random() < team.returns(texts) ? 1 : 0);
  const pairs = episode.map((): (readonly [number, number])[] => []);
  let calls = 0;
  for (;;) {
    const samples: EpisodeSamples = {
      range: RANGE,
      end: 0,
      messages: pairs.map((own, place) => ({ pairs: own, terminal: place === episode.length - 1 })),
    };
    const { verdict, places, next } = decideAlone(samples);
    if (next === null || calls >= budget) {
      return { verdict, places, calls };
    }
    const terminal = next === episode.length - 1;
    for (let pair = 0; pair < 8; pair++) {
      const later = Array.from({ length: episode.length - next - 1 }, draw);
      const own = terminal ? 0 : score([...episode.slice(0, next + 1), ...later]);
      pairs[next]?.push([own, score([...episode.slice(0, next), draw(), ...later])]);
      calls += terminal ? 1 : 2;
    }
  }
}

/** The team solves the problem unless a message says 0 at one of these places. */
const failsAt = (messages: number, ...places: readonly number[]): Team => ({
  messages,
  returns: (texts) => (places.some((place) => texts[place] === 0) ? 0 : 1),
});

describe('the value curve', () => {
  it('has drops that add up to the return less the value at the start, exactly in expectation', () => {
    const team: Team = { messages: 3, returns: (texts) => ((texts[0] ?? 0) * (texts[1] ?? 0) + (texts[2] ?? 0)) / 12 };
    for (const episode of [
      [0, 3, 1],
      [2, 1, 0],
      [3, 3, 0],
    ]) {
      const end = team.returns(episode);
      const messages = episode.map((_, place) => allPairs(team, episode, place));
      const drops = messages.map((_, place) => estimateDrop({ range: RANGE, end, messages }, place).value);
      for (const [place, drop] of drops.entries()) {
        const expected = valueOf(team, episode.slice(0, place + 1)) - valueOf(team, episode.slice(0, place));
        assert.ok(Math.abs(drop - expected) < 1e-12, `${drop} for ${expected}`);
      }
      const sum = drops.reduce((total, drop) => total + drop, 0);
      assert.ok(Math.abs(sum - (end - valueOf(team, []))) < 1e-12);
      const curve = estimateCurve({ range: RANGE, end, messages });
      assert.equal(curve.length, 4);
      for (const [place, { value, low, high }] of curve.entries()) {
        assert.ok(Math.abs(value - valueOf(team, episode.slice(0, place))) < 1e-12);
        assert.ok(low <= value && value <= high);
      }
    }
  });

  it('reads what a message without pairs of its own changed from its neighbours, in expectation', () => {
    const team: Team = { messages: 3, returns: (texts) => ((texts[0] ?? 0) * (texts[1] ?? 0) + (texts[2] ?? 0)) / 12 };
    const episode = [2, 1, 0];
    const end = team.returns(episode);
    const messages = episode.map((_, place) =>
      place === 1 ? { terminal: false, pairs: [] } : allPairs(team, episode, place),
    );
    const found = estimateDrop({ range: RANGE, end, messages }, 1);
    const expected = valueOf(team, episode.slice(0, 2)) - valueOf(team, episode.slice(0, 1));
    assert.ok(Math.abs(found.value - expected) < 1e-12 && found.n === 64, JSON.stringify(found));
    const last = estimateDrop({ range: RANGE, end, messages: messages.map((one) => ({ ...one, pairs: [] })) }, 2);
    assert.equal(last.n, 0);
    const first = estimateDrop({ range: RANGE, end: 1, messages: [{ terminal: true, pairs: [[1, 0]] }] }, 0);
    assert.deepEqual([first.value, first.n], [1, 1]);
  });

  it('divides what was lost among the messages without remainder, by as many first pairs of every other one', () => {
    const team: Team = { messages: 3, returns: (texts) => ((texts[0] ?? 0) * (texts[1] ?? 0) + (texts[2] ?? 0)) / 12 };
    const episode = [0, 3, 1];
    const messages = episode.map((_, place) => allPairs(team, episode, place));
    const least = Math.min(...messages.map(({ pairs }) => pairs.length));
    const range = { low: 0, high: 2 };
    const end = team.returns(episode);
    // What a search sampled besides changes nothing.
    const searched = messages.map((one, place) => ({
      ...one,
      pairs: place === 1 ? [] : [...one.pairs, [9, 9] as const],
    }));
    for (const pairs of [least, 1]) {
      const losses = measureLosses({ range, end, messages }, pairs) ?? assert.fail();
      const first = messages[0]?.pairs.slice(0, pairs).map(([, fresh]) => fresh) ?? [];
      const start = first.reduce((sum, one) => sum + one, 0) / pairs;
      const sum = losses.reduce((total, one) => total + one, 0);
      assert.ok(Math.abs(sum - (start - end) / 2) < 1e-12);
      assert.deepEqual(measureLosses({ range, end, messages: searched }, pairs), losses);
    }
    assert.equal(measureLosses({ range, end: 0, messages }, least + 1), null);
  });

  it('is the whole range where nothing was sampled, and the recorded return at the end', () => {
    const samples: EpisodeSamples = { range: { low: 0, high: 2 }, end: 0.5, messages: [{ pairs: [], terminal: true }] };
    assert.deepEqual(estimateCurve(samples), [
      { value: 1, low: 0, high: 2, n: 0 },
      { value: 0.5, low: 0.5, high: 0.5, n: 0 },
    ]);
    assert.deepEqual(estimateDrop(samples, 0), { value: 0, low: -2, high: 2, n: 0 });
    assert.equal(estimateCallsToDecide(samples, [0]), null);
  });
});

describe('many episodes together', () => {
  const random = randomFrom(3406);
  const sampled = (team: Team, episode: readonly number[], pairs: number): EpisodeSamples => ({
    range: RANGE,
    end: 0,
    messages: episode.map((_, place) => ({
      terminal: place === team.messages - 1,
      pairs: Array.from({ length: pairs }, () => {
        const later = Array.from({ length: team.messages }, () => Math.floor(random() * TEXTS.length));
        const score = (texts: readonly number[]): number => {
          const all = [...texts, ...later].slice(0, team.messages);
          return random() < team.returns(all) ? 1 : 0;
        };
        const own = place === team.messages - 1 ? 0 : score(episode.slice(0, place + 1));
        return [own, score([...episode.slice(0, place), Math.floor(random() * TEXTS.length)])] as const;
      }),
    })),
  });
  const hopeless: Team = { messages: 2, returns: () => 0.02 };
  const together = (episodes: readonly EpisodeSamples[]): CurveVerdict[] => {
    const counts = episodes.map((one) => toCurveCounts(one, ['plan', 'answer']));
    const model = fitCurves(counts);
    return counts.map((one) => decideTogether(model, one));
  };

  it('show which are rarely solved by eight pairs, and never one in which a message threw something away', () => {
    const lostByLast = failsAt(2, 1);
    // The first message made it solvable, against the odds; then the last one failed.
    const thrownAway: Team = { messages: 2, returns: ([first, last]) => (first === 3 && last !== 0 ? 1 : 0) };
    const episodes = [
      ...Array.from({ length: 60 }, () => sampled(hopeless, [1, 2], 8)),
      ...Array.from({ length: 20 }, () => sampled(lostByLast, [1, 0], 8)),
      ...Array.from({ length: 20 }, () => sampled(thrownAway, [3, 0], 8)),
    ];
    const found = together(episodes);
    const count = (from: number, to: number, verdict: string): number =>
      found.slice(from, to).filter((one) => one.verdict === verdict).length;
    assert.equal(episodes.filter((one) => decideAlone(one).verdict === 'rare').length, 0);
    assert.ok(count(0, 60, 'rare') >= 50, String(count(0, 60, 'rare')));
    assert.equal(count(60, 100, 'rare'), 0);
    assert.ok(count(60, 100, 'message') >= 35, String(count(60, 100, 'message')));
    assert.ok(found.slice(60).every(({ verdict, places }) => verdict !== 'message' || places[0] === 1));
  });

  it('name several that lost much each, and look where the answer is open', () => {
    const half: Team = { messages: 2, returns: (texts) => 1 - 0.5 * texts.filter((text) => text === 0).length };
    const episodes = Array.from({ length: 60 }, () => sampled(half, [0, 0], 24));
    const found = together(episodes);
    const several = found.filter(({ verdict, places }) => verdict === 'several' && places.join() === '0,1').length;
    assert.ok(several >= 30, String(several));
    assert.ok(found.every(({ verdict, next }) => (verdict === 'undecided') === (next !== null)));
  });

  it('show which returned more than the team does on average, alone and together', () => {
    const even: Team = { messages: 2, returns: () => 0.5 };
    const returned = (end: number, pairs: number): EpisodeSamples[] =>
      Array.from({ length: 200 }, () => ({ ...sampled(even, [1, 2], pairs), end }));
    const nothingLost = (found: readonly CurveVerdict[]): number =>
      found.filter(({ verdict }) => verdict === 'won').length;
    assert.ok(nothingLost(returned(0.9, 40).map((one) => decideAlone(one))) >= 190);
    assert.ok(nothingLost(together(returned(0.9, 8))) >= 190);
    // An episode that is as good as the average is wrongly called better in 5 of 100 at most.
    assert.ok(nothingLost(returned(0.5, 40).map((one) => decideAlone(one))) <= 10);
    assert.ok(nothingLost(together(returned(0.5, 8))) <= 10);
    assert.equal(nothingLost(together(returned(0, 8))), 0);
  });

  it('say nothing of one that was not replayed at each point, and take returns in between as parts', () => {
    const [whole, ...others] = Array.from({ length: 30 }, () => sampled(hopeless, [1, 2], 8));
    assert.ok(whole !== undefined);
    const [first, last] = whole.messages;
    assert.ok(first !== undefined && last !== undefined);
    const none = { ...whole, messages: [{ ...first, pairs: [] }, last] };
    const [unread] = together([none, ...others]);
    assert.deepEqual([unread?.verdict, unread?.next], ['undecided', 0]);
    const between = {
      ...whole,
      messages: [
        { ...first, pairs: [[0, 0.5]] as const },
        { ...last, pairs: [] },
      ],
    };
    assert.deepEqual(toCurveCounts({ ...between, range: { low: -1, high: 1 }, end: -1 }, ['a', 'b']), {
      points: [
        { won: 0.75, of: 1 },
        { won: 0.5, of: 1 },
      ],
      end: 0,
      names: ['a', 'b'],
    });
  });
});

describe('a search for what lost an episode', () => {
  it('names the message that lost it, in chains of 2 to 8, and is wrong in at most 5 % of 105', () => {
    const random = randomFrom(3401);
    let [wrong, right, calls] = [0, 0, 0];
    for (let number = 0; number < 105; number++) {
      const messages = 2 + (number % 7);
      const culprit = Math.floor(random() * messages);
      // Noise below and above, so that single continuations mislead.
      const sound = failsAt(messages, culprit);
      const team: Team = { messages, returns: (texts) => 0.1 + 0.8 * sound.returns(texts) };
      const episode = Array.from({ length: messages }, (_, place) => (place === culprit ? 0 : 1 + (number % 3)));
      const found = search(team, episode, 600, random);
      calls += found.calls;
      const named = found.verdict === 'message' ? found.places[0] : undefined;
      right += named === culprit ? 1 : 0;
      wrong += found.verdict === 'rare' || (named !== undefined && named !== culprit) ? 1 : 0;
    }
    assert.ok(wrong <= 5, `${wrong} wrong`);
    assert.ok(right >= 0.8 * 105, `${right} right, ${calls / 105} calls each`);
  });

  it('says that the team rarely solves a problem, and that nobody lost it', () => {
    const random = randomFrom(3402);
    const team: Team = { messages: 3, returns: () => 0.03 };
    const found = Array.from({ length: 100 }, () => search(team, [1, 2, 3], 600, random).verdict);
    assert.ok(found.filter((one) => one === 'rare').length >= 95, found.join(' '));
    assert.ok(found.filter((one) => one === 'message').length <= 5);
  });

  it('does not call a problem rarely solved where one message threw away what another had won', () => {
    const random = randomFrom(3403);
    // One first text in four makes it solvable; then the last one fails.
    const team: Team = { messages: 2, returns: ([first, last]) => (first === 3 && last !== 0 ? 1 : 0) };
    for (let number = 0; number < 50; number++) {
      const { verdict, places } = search(team, [3, 0], 400, random);
      assert.deepEqual([verdict, ...places], ['message', 1]);
    }
  });

  it('names two that lost as much together', () => {
    const random = randomFrom(3404);
    // Either failure alone halves the chance.
    const team: Team = { messages: 2, returns: (texts) => 1 - 0.5 * texts.filter((text) => text === 0).length };
    const found = Array.from({ length: 40 }, () => search(team, [0, 0], 400, random));
    const together = found.filter(({ verdict, places }) => verdict === 'several' && places.length === 2);
    const single = found.filter(({ verdict }) => verdict === 'message').length;
    assert.ok(together.length >= 38 && single <= 2, `${together.length}, ${single} alone`);
  });

  it('is undecided where the budget is one call, and says where to look', () => {
    const { verdict, places, next } = decideAlone({
      range: RANGE,
      end: 0,
      messages: [
        { pairs: [], terminal: false },
        { pairs: [[0, 1]], terminal: true },
      ],
    });
    assert.deepEqual([verdict, places, next], ['undecided', [0, 1], 0]);
  });

  it('needs fewer calls than a search that looks everywhere', () => {
    const even = (team: Team, episode: readonly number[], random: () => number): number => {
      const draw = (): number => Math.floor(random() * TEXTS.length);
      const pairs = episode.map((): (readonly [number, number])[] => []);
      for (let calls = 0; calls < 4000;) {
        for (const [place, own] of pairs.entries()) {
          const terminal = place === episode.length - 1;
          for (let pair = 0; pair < 8; pair++) {
            const later = Array.from({ length: episode.length - place - 1 }, draw);
            own.push([
              terminal ? 0 : team.returns([...episode.slice(0, place + 1), ...later]),
              team.returns([...episode.slice(0, place), draw(), ...later]),
            ]);
            calls += terminal ? 1 : 2;
          }
        }
        const messages = pairs.map((own, place) => ({ pairs: own, terminal: place === episode.length - 1 }));
        if (decideAlone({ range: RANGE, end: 0, messages }).verdict === 'message') {
          return calls;
        }
      }
      return 4000;
    };
    const random = randomFrom(3405);
    let [adaptive, uniform] = [0, 0];
    for (let number = 0; number < 40; number++) {
      const culprit = number % 8;
      const team = failsAt(8, culprit);
      const episode = Array.from({ length: 8 }, (_, place) => (place === culprit ? 0 : 1));
      adaptive += search(team, episode, 4000, random).calls;
      uniform += even(team, episode, random);
    }
    assert.ok(adaptive <= 0.9 * uniform, `${adaptive} of ${uniform}`);
  });
});
