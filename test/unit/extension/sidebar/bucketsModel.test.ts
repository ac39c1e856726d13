import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ALL_BUCKETS, isBucketFilter, type RankedBucket } from '../../../../src/domain/replay.ts';
import {
  formatAlternativeDescription,
  formatAlternativeLabel,
  listBucketChoices,
  formatBucketDescription,
  formatBucketFilter,
  formatBucketLabel,
  formatSpokenBucket,
  formatBucketTooltip,
  formatBucketFigure,
  formatSignedCredit,
} from '../../../../src/extension/sidebar/bucketWords.ts';
import { listBucketNodes, type BucketsNode } from '../../../../src/extension/sidebar/bucketsModel.ts';
import {
  countValues,
  formatRunsFilter,
  isFiltering,
  isRunsFilter,
  NO_FILTER,
  passesRunsFilter,
} from '../../../../src/extension/sidebar/runsFilter.ts';
import { listChildren, Limits, PAGE, findRunOfNode } from '../../../../src/extension/sidebar/runsModel.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import { addRequest, addRun, addTree, problem, LEDGER, RUN, temporaryStore } from '../storeFixture.ts';

const store = temporaryStore();
const { writer } = store;

before(() => {
  addRun(writer);
  addRun(writer, 'newer', '2026-02-02T00:00:00.000Z');
  writer.updateRunStatus('newer', 'done', '2026-02-03T00:00:00.000Z', null);
  writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
  for (let number = 0; number < PAGE; number++) {
    const [tree] = addTree(writer, { iteration: 1, problem: problem(number), returns: [[1, 0]] });
    assert.ok(tree);
    setHeadline(store.path, tree.plan, headline(number / PAGE, { low: null, high: null }));
  }
});
after(() => store.remove());

test('the buckets of a run come by rank and in pages, and each opens at the message that mattered', () => {
  const limits = new Limits();
  const top = listBucketNodes(writer, RUN, 'credit', null, limits);
  assert.equal(top.length, PAGE + 1);
  const [first] = top;
  assert.ok(first?.kind === 'bucket');
  assert.deepEqual(
    [first.ranked.credit?.value, writer.message(first.message ?? 0).text],
    [(PAGE - 1) / PAGE, 'plan 0'],
  );
  const more = top.at(-1);
  assert.ok(more?.kind === 'moreBuckets' && more.left === PAGE);
  limits.grow(more.list);
  const all = listBucketNodes(writer, RUN, 'credit', null, limits);
  assert.equal(new Set(all.map(({ id }) => id)).size, 2 * PAGE);
  assert.equal(
    listBucketNodes(writer, RUN, 'spread', null, limits).length,
    PAGE + 1,
    'another order is a list of its own',
  );
  const messages = listBucketNodes(writer, RUN, 'credit', first, limits);
  assert.deepEqual(
    messages.map(
      (node: BucketsNode) =>
        node.kind === 'alternative' && [
          node.message,
          formatAlternativeLabel(node.alternative),
          formatAlternativeDescription(node.alternative),
        ],
    ),
    [[first.message, '+0.99, return 0.50', 'plan 0']],
  );
  assert.deepEqual(listBucketNodes(writer, 'newer', 'credit', null, limits), []);
});

test('a filtered view holds the buckets that pass, counts those that are left, and says what it is filtered for', () => {
  const limits = new Limits();
  const plans = { ...ALL_BUCKETS, roles: ['reasoner'] };
  const shown = listBucketNodes(writer, RUN, 'credit', null, limits, plans);
  assert.equal(shown.length, PAGE, 'one plan for each question, and no "Load more"');
  assert.ok(shown.every((node) => node.kind === 'bucket' && node.ranked.role === 'reasoner'));
  assert.deepEqual(listBucketNodes(writer, RUN, 'credit', null, limits, { ...ALL_BUCKETS, origins: ['request'] }), []);
  const choices = listBucketChoices(writer.bucketKinds(RUN));
  assert.deepEqual(
    choices.map(({ title, choices: of }) => [title, of.map(({ label, count }) => [label, count])]),
    [
      [
        'Role',
        [
          ['actor', PAGE],
          ['reasoner', PAGE],
        ],
      ],
      ['Origin', [['training', 2 * PAGE]]],
      [
        'Credit',
        [
          ['not measured', PAGE],
          ['measured', PAGE],
        ].map(([label, count]) => [`credit ${String(label)}`, count]),
      ],
    ],
  );
  const filter = choices
    .flatMap(({ choices: of }) => of)
    .reduce(
      (chosen, choice) =>
        choice.label === 'actor' || choice.label.startsWith('credit') ? choice.addTo(chosen) : chosen,
      ALL_BUCKETS,
    );
  assert.ok(isBucketFilter(filter));
  assert.equal(formatBucketFilter(filter), 'actor, credit not measured, credit measured');
  assert.deepEqual(
    choices.flatMap(({ choices: of }) => of.filter((choice) => choice.isIn(filter)).map(({ label }) => label)),
    ['actor', 'credit not measured', 'credit measured'],
  );
  assert.ok(!isBucketFilter({ ...ALL_BUCKETS, origins: ['elsewhere'] }), 'what a window kept is checked');
});

const RANKED: RankedBucket = {
  bucket: 7,
  origin: 'training',
  iteration: 3,
  role: 'reasoner',
  turn: 0,
  question: 'How many?',
  returns: 4,
  spread: 0.5,
  message: 12,
  text: '12 + 7\n= ?',
  credit: headline(-0.25, { low: -0.5, high: 0, n: 8, effectiveN: 4, evaluatorCalls: 1 }),
  removal: { message: 12, replace: 0.1, remove: -0.4 },
  continuation: null,
};

test('a bucket shows the figure that it is ranked by, with what was not measured said', () => {
  const orders = ['clearest', 'credit', 'spread', 'distance'] as const;
  assert.deepEqual(
    orders.map((order) => formatBucketLabel(RANKED, order)),
    ['reasoner \u22120.25', 'reasoner \u22120.25', 'reasoner ±0.50', 'reasoner 0.50 apart'],
  );
  assert.deepEqual(
    orders.map((order) => formatBucketDescription(RANKED, order)),
    [
      '12 + 7 = ? · undecided · n = 8 · step 3',
      '12 + 7 = ? · n = 8 · step 3',
      '12 + 7 = ? · 4 returns · step 3',
      '12 + 7 = ? · replace +0.10, remove \u22120.40 · step 3',
    ],
  );
  const bare: RankedBucket = { ...RANKED, credit: null, spread: null, removal: null, text: '' };
  assert.deepEqual(
    orders.map((order) => formatBucketFigure(bare, order)),
    ['credit not measured', 'credit not measured', 'spread not measured', 'remove not measured'],
  );
  assert.deepEqual(
    [formatBucketLabel(bare, 'distance'), formatBucketDescription({ ...bare, text: 'said' }, 'distance')],
    ['reasoner', 'remove not measured · said · step 3'],
  );
  assert.match(
    formatBucketTooltip(RANKED),
    /credit \u22120\.25, 95 % \u22120\.50 to 0\.00, undecided: about 12 more replays would settle it, n = 8 \(4 independent\), 1 evaluator call\n/u,
  );
  assert.equal(formatSpokenBucket(RANKED, 'credit'), 'reasoner: 12 + 7 = ?; Largest credit: minus 0.25, n = 8; step 3');
  const alone: RankedBucket = { ...RANKED, credit: headline(0, { verdict: 'alone', low: null, high: null }) };
  assert.deepEqual(
    [formatBucketLabel(alone, 'clearest'), formatBucketFigure(alone, 'clearest')],
    ['reasoner', 'no other message was sampled here'],
  );
  assert.equal(
    formatBucketLabel({ ...RANKED, credit: headline(-0.25, { low: -0.5, high: -0.1 }) }, 'clearest'),
    'reasoner \u22120.25',
  );
  assert.deepEqual(
    [formatSignedCredit(-0.001), formatSignedCredit(0), formatSignedCredit(0.5)],
    ['\u22121.0e\u22123', '0.00', '+0.50'],
  );
});

test('runs are filtered by words, method and status together', () => {
  const run = {
    run: { id: 'abc', title: 'Tiny Team', method: 'c3', note: 'for Friday', tags: ['paper'] },
    status: 'failed',
  } as const;
  for (const [filter, shown] of [
    [{ words: 'team TINY' }, true],
    [{ words: 'tiny done' }, false],
    [{ words: 'PAPER friday' }, true],
    [{ words: 'abc failed' }, true],
    [{ methods: ['magrpo'] }, false],
    [{ methods: ['magrpo', 'c3'], statuses: ['failed'] }, true],
    [{ statuses: ['done'] }, false],
    [{}, true],
  ] as const) {
    assert.equal(passesRunsFilter({ ...NO_FILTER, ...filter }, run), shown, JSON.stringify(filter));
  }
  assert.deepEqual([NO_FILTER, { ...NO_FILTER, words: '  ' }, { ...NO_FILTER, methods: ['c3'] }].map(isFiltering), [
    false,
    false,
    true,
  ]);
  assert.equal(formatRunsFilter({ words: ' a ', methods: ['c3'], statuses: ['done'] }), '“a”, done, c3');
  assert.deepEqual(countValues(['b', 'a', 'b']), [
    { value: 'b', count: 2 },
    { value: 'a', count: 1 },
  ]);
  assert.ok(
    isRunsFilter(NO_FILTER) && !isRunsFilter({ ...NO_FILTER, statuses: ['lost'] }),
    'what a window kept is checked',
  );
});

test('a filtered tree holds the runs that pass, and every item knows its run', () => {
  const limits = new Limits();
  const done = listChildren(writer, null, limits, { ...NO_FILTER, statuses: ['done'] });
  assert.deepEqual(
    done.map(({ id }) => id),
    ['newer'],
  );
  assert.deepEqual(listChildren(writer, null, limits, { ...NO_FILTER, words: 'nothing like it' }), []);
  const [run] = listChildren(writer, null, limits, { ...NO_FILTER, words: RUN });
  assert.ok(run);
  const [step] = listChildren(writer, run, limits);
  assert.ok(step);
  const [episode] = listChildren(writer, step, limits);
  assert.ok(episode);
  assert.deepEqual([run, step, episode].map(findRunOfNode), [RUN, RUN, RUN]);
});

test('alternatives of equal text are one row, with the returns of all', () => {
  const request = addRequest(writer, firstPlan(), ['the same', 'the same', 'another'], [1, 0, 1]);
  const node: BucketsNode = {
    kind: 'bucket',
    id: 'b',
    ranked: {} as RankedBucket,
    order: 'credit',
    bucket: request.bucket,
  };
  const rows = listBucketNodes(writer, RUN, 'credit', node, new Limits()).map((row) =>
    row.kind === 'alternative'
      ? [formatAlternativeDescription(row.alternative, row.copies), row.alternative.returns]
      : [],
  );
  assert.deepEqual(rows.slice(1), [
    ['said 2 times: the same', [1, 0]],
    ['another', [1]],
  ]);
});

function firstPlan(): number {
  return writer.bucketsOfRun({ run: RUN, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0;
}
