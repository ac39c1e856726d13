import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { roundDuring, roundTitle } from '../../../../src/domain/evaluation.ts';
import {
  CLEAREST_FIRST,
  LOST_FIRST,
  NO_PROBLEM_FILTER,
  NOT_CLASSIFIED,
  PROBLEM_COLUMNS,
  type ProblemFilter,
  type ProblemSort,
} from '../../../../src/domain/problem.ts';
import { splitSearch } from '../../../../src/store/read/runs/readProblems.ts';
import { CREDIT_ORDER } from '../../../../src/store/tables/creditOrder.ts';
import { PROBLEMS } from '../../../../src/store/tables/problems.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import {
  addMessage,
  addRequest,
  addRun,
  addTree,
  problem,
  LEDGER,
  METRICS,
  RUN,
  temporaryStore,
} from '../../extension/storeFixture.ts';
import { rawConnection } from '../helpers.ts';

const BY_APPEARANCE: ProblemSort = { column: 'appearance', descending: false };

function store(t: TestContext): ReturnType<typeof temporaryStore> {
  const made = temporaryStore();
  t.after(() => made.remove());
  addRun(made.writer);
  return made;
}

/**
 * Two steps with problems 1 to 3, an evaluation of problems 8 and 9 before and after, and one request that must count
 * nowhere.
 */
function fill(writer: StoreWriter): void {
  const step = (
    iteration: number,
    trees: readonly (readonly [number, readonly (readonly (number | null)[])[]])[],
  ): void => {
    writer.insertStep({ run: RUN, iteration, snapshot: 'a'.repeat(64), ledger: LEDGER });
    for (const [number, returns] of trees) {
      addTree(writer, { iteration, problem: problem(number), returns });
    }
    writer.finishStep(RUN, iteration, METRICS, LEDGER);
  };
  for (const [number, before] of [
    [8, 0],
    [9, 1],
  ] as const) {
    addTree(writer, { phase: 'evaluate', iteration: 1, problem: problem(number), returns: [[before]] });
  }
  step(1, [
    [
      1,
      [
        [1, 0],
        [1, 1],
      ],
    ],
    [
      2,
      [
        [0, 0],
        [0, 0],
      ],
    ],
  ]);
  step(2, [
    [
      1,
      [
        [1, 1],
        [1, 1],
      ],
    ],
    [
      3,
      [
        [null, 1],
        [0, 1],
      ],
    ],
  ]);
  for (const number of [8, 9]) {
    addTree(writer, { phase: 'evaluate', iteration: 3, problem: problem(number), returns: [[1]] });
  }
  const credits = [
    [1, -0.9, -1, -0.4],
    [2, 0.2, -0.1, 0.5],
    [3, 0.9, 0.2, 1],
  ] as const;
  for (const [number, value, low, high] of credits) {
    const { leaf } = writer
      .episodes({ run: RUN, phase: 'train', iteration: number === 3 ? 2 : 1, offset: 0, limit: 100 })
      .find((episode) => episode.problem === problem(number).uidSha) ?? { leaf: 0 };
    const { bucket } = writer.message(leaf);
    writer.insertCredit(bucket ?? 0, leaf, {
      estimator: 'loo',
      value,
      low,
      high,
      n: 4,
      evaluatorCalls: 4,
      interval: 'betting',
    });
    setHeadline(writer.path, leaf, headline(value, { low, high }));
  }
  const [first] = writer.episodes({ run: RUN, phase: 'train', iteration: 1, offset: 0, limit: 1 });
  addRequest(writer, first?.leaf ?? 0, ['something else'], [0]);
}

function uids(
  writer: StoreWriter,
  filter: Partial<ProblemFilter> = {},
  sort = BY_APPEARANCE,
  classes: Readonly<Record<string, string>> = {},
): readonly string[] {
  return writer
    .problems(writer.problemIds({ run: RUN, filter: { ...NO_PROBLEM_FILTER, ...filter }, sort, classes }))
    .map(({ uid }) => uid);
}

test('a problem adds up what the run did with it, requests left out', (t) => {
  const { writer } = store(t);
  fill(writer);
  const rows = writer.problems(
    writer.problemIds({ run: RUN, filter: NO_PROBLEM_FILTER, sort: BY_APPEARANCE, classes: {} }),
  );
  assert.deepEqual(
    rows.map(({ uid }) => uid),
    ['q8', 'q9', 'q1', 'q2', 'q3'],
  );
  const [lost, , one, , three] = rows;
  assert.ok(lost !== undefined && one !== undefined && three !== undefined);
  assert.deepEqual([one.meanReturn, one.returns, one.masked, one.evaluatorCalls], [7 / 8, 8, 0, 8]);
  // Two plans and four answers in each of two steps, three prompt tokens and three others each.
  assert.deepEqual(one.tokens, { prompt: 36, reused: 0, completion: 36 });
  assert.deepEqual([three.meanReturn, three.returns, three.masked], [2 / 3, 3, 1]);
  assert.deepEqual(one.rounds, [
    { phase: 'train', iteration: 1, mean: 0.75, episodes: 4 },
    { phase: 'train', iteration: 2, mean: 1, episodes: 4 },
  ]);
  assert.deepEqual(
    [lost.greedyBefore, lost.greedyAfter, lost.sampledAfter, lost.meanReturn, lost.seconds],
    [0, 1, null, null, null],
  );
  // Both problems of a step have as many tokens: each half of its 2 + 1 seconds.
  assert.deepEqual(
    rows.map(({ seconds }) => seconds),
    [null, null, 3, 1.5, 1.5],
  );
  assert.deepEqual([one.clearest?.role, one.clearest?.credit.value, one.clearest?.text], ['actor', -0.9, 'answer 0.0']);
  assert.deepEqual(writer.problemFacets(RUN), {
    total: 5,
    trained: 3,
    evaluated: 2,
    roles: ['actor'],
    filled: ['appearance', 'question', 'outcome', 'before', 'after', 'return', 'credit', 'tokens', 'seconds', 'calls'],
  });
});

test('what was recorded without a score has no outcome in its list of problems', (t) => {
  const { writer } = store(t);
  addRun(writer, 'log');
  writer.insertProblems([problem(1)]);
  const speaker = { role: 'writer', position: 0, parent: null, bucket: null, index: 0 };
  addMessage(writer, { ...speaker, run: 'log', phase: 'evaluate', iteration: 2, problem: problem(1), text: 'said' });
  assert.deepEqual(writer.problemFacets('log').filled, ['appearance', 'question', 'tokens']);
});

test('problems are sorted by every column, those without a value last in both directions', (t) => {
  const { writer } = store(t);
  fill(writer);
  assert.deepEqual(uids(writer, {}, CLEAREST_FIRST), ['q1', 'q3', 'q2', 'q8', 'q9']);
  assert.deepEqual(uids(writer, {}, { column: 'return', descending: true }), ['q1', 'q3', 'q2', 'q8', 'q9']);
  assert.deepEqual(uids(writer, {}, { column: 'return', descending: false }), ['q2', 'q3', 'q1', 'q8', 'q9']);
  assert.deepEqual(uids(writer, {}, { column: 'before', descending: true }), ['q9', 'q8', 'q1', 'q2', 'q3']);
  assert.deepEqual(uids(writer, {}, { column: 'tokens', descending: true }).slice(0, 1), ['q1']);
  for (const column of PROBLEM_COLUMNS) {
    assert.equal(uids(writer, {}, { column, descending: true }).length, 5, column);
  }
  const classes = { [problem(2).uidSha]: 'Misleading Plan' };
  assert.equal(uids(writer, {}, { column: 'class', descending: false }, classes)[0], 'q2');
});

test('lost problems are sorted by what searches found, those that were not searched last', (t) => {
  const { writer } = store(t);
  fill(writer);
  const losses = { [problem(3).uidSha]: { order: 3.2, start: 0.2 }, [problem(8).uidSha]: { order: 1.9, start: 0.9 } };
  const sorted = (sort: ProblemSort): readonly string[] =>
    writer
      .problems(writer.problemIds({ run: RUN, filter: NO_PROBLEM_FILTER, sort, classes: {}, losses }))
      .map(({ uid }) => uid);
  assert.deepEqual(sorted(LOST_FIRST), ['q3', 'q8', 'q9', 'q1', 'q2']);
  assert.deepEqual(sorted({ column: 'chance', descending: true }).slice(0, 2), ['q8', 'q3']);
  assert.deepEqual(sorted({ column: 'chance', descending: false }).slice(0, 2), ['q3', 'q8']);
});

test('filters ask for outcome, verdict, split, role and class', (t) => {
  const { writer } = store(t);
  fill(writer);
  assert.deepEqual(uids(writer, { outcome: 'lost' }), ['q2', 'q3']);
  assert.deepEqual(uids(writer, { outcome: 'won' }), ['q8', 'q9', 'q1']);
  assert.deepEqual(uids(writer, { outcome: 'between' }), ['q3']);
  assert.deepEqual(uids(writer, { outcome: 'changed' }), ['q8', 'q1']);
  assert.deepEqual(uids(writer, { outcome: 'worsened' }), []);
  assert.deepEqual(uids(writer, { verdict: 'hurt' }), ['q1']);
  assert.deepEqual(uids(writer, { verdict: 'helped' }), ['q3']);
  assert.deepEqual(uids(writer, { verdict: 'undecided' }), ['q2']);
  assert.deepEqual(uids(writer, { verdict: 'none' }), ['q8', 'q9']);
  assert.deepEqual(uids(writer, { split: 'evaluation' }), ['q8', 'q9']);
  assert.deepEqual(uids(writer, { role: 'reasoner' }), []);
  const classes = { [problem(2).uidSha]: 'Misleading Plan' };
  assert.deepEqual(uids(writer, { className: 'Misleading Plan' }, BY_APPEARANCE, classes), ['q2']);
  assert.deepEqual(uids(writer, { className: NOT_CLASSIFIED, split: 'train' }, BY_APPEARANCE, classes), ['q1', 'q3']);
});

test('a search finds words of questions, of messages and of metadata, and signs of SQL are only signs', (t) => {
  const { writer } = store(t);
  fill(writer);
  addTree(writer, {
    iteration: 3,
    problem: { ...problem(30), question: 'Is 50% of a_b more? it\'s "odd"', source: 'other', level: 12 },
    returns: [[1]],
    words: (_, actor) => (actor === null ? 'think of walnuts' : 'half'),
  });
  assert.deepEqual(uids(writer, { search: 'QUESTION 2' }), ['q2']);
  assert.deepEqual(uids(writer, { search: 'walnuts' }), ['q30']);
  assert.deepEqual(uids(writer, { search: 'walnut think' }), ['q30']);
  assert.deepEqual(uids(writer, { search: 'message:walnuts question:50%' }), ['q30']);
  assert.deepEqual(uids(writer, { search: 'question:walnuts' }), []);
  assert.deepEqual(uids(writer, { search: 'level:1 source:fixture' }).length, 5);
  assert.deepEqual(uids(writer, { search: 'level:12' }), ['q30']);
  assert.deepEqual(uids(writer, { search: 'level:x' }), []);
  assert.deepEqual(uids(writer, { search: '% of a_b' }), ['q30']);
  assert.deepEqual(uids(writer, { search: 'a%b' }), []);
  assert.deepEqual(uids(writer, { search: 'axb' }), []);
  assert.deepEqual(uids(writer, { search: `it's` }), ['q30']);
  assert.deepEqual(uids(writer, { search: `'; DROP TABLE problem; --` }), []);
  // All words of the first question are in the second one as well; a field of one line has no line breaks.
  for (const [id, question] of [
    [31, 'From B to H\nwithout G'],
    [32, 'Begin from H to G, without the other'],
  ] as const) {
    addTree(writer, { iteration: 3, problem: { ...problem(id), question }, returns: [[1]] });
  }
  assert.deepEqual(uids(writer, { search: ' From B to H without G ' }), ['q31']);
  assert.deepEqual(uids(writer, { search: 'From B to H' }), ['q31', 'q32']);
  assert.deepEqual(uids(writer, { search: '"from b to h"' }), ['q31']);
  assert.deepEqual(splitSearch('uid:"a b" http://x "two words" level:'), [
    { field: 'uid', word: 'a b' },
    { field: null, word: 'http://x' },
    { field: null, word: 'two words' },
    { field: null, word: 'level:' },
  ]);
});

test('evaluations during training are after their step, and the newest of them is the latest outcome while a run is in progress', (t) => {
  const { writer } = store(t);
  for (const [iteration, value] of [
    [roundDuring(10, 'greedy').iteration, 0.5],
    [1, 0],
    [roundDuring(2, 'greedy').iteration, 1],
    [roundDuring(10, 'sampled').iteration, 0],
  ] as const) {
    addTree(writer, { phase: 'evaluate', iteration, problem: problem(1), returns: [[value]] });
  }
  const [id = 0] = writer.problemIds({
    run: RUN,
    filter: { ...NO_PROBLEM_FILTER, outcome: 'between' },
    sort: BY_APPEARANCE,
    classes: {},
  });
  assert.deepEqual(
    writer.problems([id])[0]?.rounds.map(({ iteration, mean }) => [roundTitle('evaluate', iteration), mean]),
    [
      ['Evaluation before, greedy', 0],
      ['Evaluation after step 2, greedy', 1],
      ['Evaluation after step 10, greedy', 0.5],
      ['Evaluation after step 10, sampled', 0],
    ],
  );
});

test('a transcript opens at the clearest message, or in a round at its lost episode', (t) => {
  const { writer } = store(t);
  fill(writer);
  const [one] = writer.problemIds({
    run: RUN,
    filter: { ...NO_PROBLEM_FILTER, search: 'uid:q1' },
    sort: BY_APPEARANCE,
    classes: {},
  });
  const opening = writer.problemOpening(one ?? 0, null);
  assert.deepEqual(opening?.target, { run: RUN, phase: 'train', iteration: 1, problem: problem(1).uidSha });
  assert.equal(writer.message(opening.message).credit?.value, -0.9);
  const lost = writer.problemOpening(one ?? 0, { phase: 'train', iteration: 1 });
  assert.equal(writer.message(lost?.message ?? 0).return, 0);
  const [evaluated] = writer.problemIds({
    run: RUN,
    filter: { ...NO_PROBLEM_FILTER, search: 'uid:q8' },
    sort: BY_APPEARANCE,
    classes: {},
  });
  assert.deepEqual(writer.problemOpening(evaluated ?? 0, null)?.target, {
    run: RUN,
    phase: 'evaluate',
    iteration: 3,
    problem: problem(8).uidSha,
  });
  assert.equal(writer.problemOpening(999, null), null);
});

test('an older store comes out with the same problems as one that listed them while it was written', (t) => {
  const { writer, path } = store(t);
  fill(writer);
  const db = rawConnection(t, path);
  const read = (): unknown => [
    db
      .prepare(
        'SELECT id, run, instance, returns, total, masked, evaluator_calls, prompt_tokens, reused_tokens, completion_tokens, round(seconds, 9) AS seconds, clear_message, clear_role, clear_value, clearness FROM problem ORDER BY id',
      )
      .all(),
    db.prepare('SELECT * FROM problem_round ORDER BY problem, phase, iteration').all(),
  ];
  const before = read();
  db.exec(
    'DROP TRIGGER decision_listed; DROP TRIGGER episode_listed; DROP TRIGGER step_listed; DROP TABLE problem_round; DROP TABLE problem',
  );
  db.exec(PROBLEMS);
  // A later version ranks anew what this one ranked by the bound nearest to 0.
  db.exec(CREDIT_ORDER);
  assert.deepEqual(read(), before);
});
