import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SelfTestStep } from '../../../src/shared/models.ts';
import type { ModelTestState } from '../../../src/shared/protocols/modelProtocol.ts';
import { barLayout } from '../../../webview/model/memoryBar.ts';
import {
  describeRunBudget,
  listFactRows,
  formatParameters,
  describePrecision,
  describeSelfTest,
  describeMemoryTotal,
  describeFit,
} from '../../../webview/model/words.ts';
import { modelFacts } from '../extension/model/modelFixture.ts';

const items = (...sizes: readonly number[]): Parameters<typeof barLayout>[0] =>
  sizes.map((bytes, index) => ({ name: `item ${index}`, place: 'host', bytes, advice: null, number: index + 1 }));

test('the bar is as long as what there is, and longer where more is needed', () => {
  const fits = barLayout(items(2, 1), { available: 10 });
  assert.deepEqual(
    fits.pieces.map(({ start, width }) => [start, width]),
    [
      [0, 20],
      [20, 10],
    ],
  );
  assert.equal(fits.limit, 100);
  const over = barLayout(items(6, 10, 4), { available: 5 });
  assert.deepEqual(
    over.pieces.map(({ start, width }) => [start, width]),
    [
      [0, 30],
      [30, 50],
      [80, 20],
    ],
  );
  assert.equal(over.limit, 25);
  assert.deepEqual(
    barLayout(items(1, 3), { available: null }),
    { pieces: barLayout(items(1, 3), { available: 4 }).pieces, limit: null },
    'what is not known is not drawn',
  );
  assert.deepEqual(barLayout([], { available: null }), { pieces: [], limit: null });
});

test('facts are named in full, and what is not there says so', () => {
  const facts = new Map(listFactRows(modelFacts('/models/qwen')));
  assert.equal(facts.get('Parameters'), '494,032,768 (494 million)');
  assert.equal(facts.get('Precision'), 'bfloat16');
  assert.equal(facts.get('Weights on disk'), '988 MB in 1 file');
  assert.equal(facts.get('Context length'), '32,768 tokens');
  const bare = new Map(
    listFactRows({
      ...modelFacts('/'),
      chatTemplate: null,
      endTokens: [],
      keyValueHeads: 1,
      ropeScaling: 'llama3, factor 8',
    }),
  );
  assert.match(bare.get('Chat template') ?? '', /^none/u);
  assert.equal(bare.get('Ends a message'), 'no token specified');
  assert.equal(bare.get('Attention'), '14 query heads, 1 key and value head');
  assert.equal(bare.get('Long contexts'), 'llama3, factor 8');
  assert.equal(formatParameters(85_824), '85,824');
  assert.equal(
    describePrecision({
      parameters: 200,
      precisions: [
        { dtype: 'BF16', parameters: 190 },
        { dtype: 'F8_E4M3', parameters: 10 },
      ],
    }),
    'bfloat16 (95 %), F8_E4M3 (5.0 %)',
  );
});

test('a plan says what is needed of what there is, and never guesses what is not known', () => {
  assert.equal(
    describeMemoryTotal({ place: 'host', bytes: 1.23e9, available: 16e9, fits: true }),
    'at most 1.23 GB needed, 16 GB available',
  );
  assert.match(
    describeMemoryTotal({ place: 'device', bytes: 1e9, available: null, fits: null }),
    /^at most 1 GB needed, and the system does not report/u,
  );
  assert.deepEqual([true, false, null].map(describeFit), ['fits', 'does not fit', 'unknown']);
  const cost = { evaluatorCalls: 1024, decisions: { reasoner: 512, actor: 1024 }, tokens: 73_728 };
  assert.equal(
    describeRunBudget({ steps: 1, evaluations: 2, perStep: cost, perEvaluation: cost, total: cost }),
    '1 training step and 2 evaluations: at most 1,024 evaluator calls and 73,728 sampled tokens; messages: reasoner 512, actor 1,024.',
  );
});

test('a self-test passes only when every step did', () => {
  const step = (passed: boolean): SelfTestStep => ({ name: 'x', passed, seconds: 1.25, detail: '' });
  const state = (
    status: ModelTestState['status'],
    steps: readonly SelfTestStep[],
    more: Partial<ModelTestState> = {},
  ): ModelTestState => ({ status, steps, current: null, share: null, error: null, ...more });
  assert.equal(describeSelfTest(state('done', [step(true), step(true)])), 'All 2 steps passed in 2.5 s.');
  assert.equal(describeSelfTest(state('done', [step(true), step(false)])), '1 of 2 steps failed.');
  assert.equal(describeSelfTest(state('done', [])), 'Nothing was tested.');
  assert.equal(describeSelfTest(state('cancelled', [step(true)])), 'Cancelled after 1 step.');
  assert.equal(describeSelfTest(state('failed', [step(true)], { error: 'The engine ended.' })), 'The engine ended.');
  assert.equal(
    describeSelfTest(state('running', [], { current: 'Loading the model', share: 0.057 })),
    'Loading the model, 5 %',
  );
  assert.equal(describeSelfTest(state('running', [], { current: 'Testing' })), 'Testing');
});
