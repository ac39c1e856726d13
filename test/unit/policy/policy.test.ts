import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { LocalPolicy, type PolicyAnswer, type PolicyRequest } from '../../../src/policy/policy.ts';
import {
  loadTokenizer,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  type LoadedTokenizer,
} from '../../../src/policy/tokenizer.ts';
import { trainBpe } from '../../../src/policy/trainBpe.ts';
import { ModelHost } from '../../../src/runtime/host.ts';
import { initialParameters, saveModel } from '../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import { streamKey } from '../../../src/runtime/random.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import { writeTurnMessages } from '../../../src/team/history.ts';
import { renderPlainMessages } from '../../../src/team/render.ts';

const TEXTS = ['Tom has 12 apples and 7 pears.', 'Tom gives 5 apples to Ann.'];
const SIZE = 280;
const CONFIG: TransformerConfig = {
  vocabularySize: SIZE,
  hiddenSize: 16,
  intermediateSize: 24,
  layers: 1,
  heads: 4,
  keyValueHeads: 2,
  headDim: 4,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 128,
  tieEmbeddings: true,
};
const RUNNING = { signal: new AbortController().signal };

let folder: string;
let host: ModelHost;
let tokenizer: LoadedTokenizer;
let policy: LocalPolicy;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-policy-'));
  const trained = trainBpe([...TEXTS, ...TEXTS], SIZE);
  await writeFile(join(folder, TOKENIZER_FILE), JSON.stringify(trained.tokenizer));
  await writeFile(join(folder, TOKENIZER_CONFIG_FILE), JSON.stringify(trained.config));
  await saveModel(
    folder,
    { config: CONFIG, parameters: initialParameters(CONFIG, 1).map((value) => 6 * value) },
    'F32',
  );
  host = new ModelHost({ threads: 1 });
  const { snapshot } = await host.load(folder);
  tokenizer = await loadTokenizer(folder);
  policy = new LocalPolicy(host, tokenizer, snapshot);
});
after(async () => {
  await host.close();
  await rm(folder, { recursive: true, force: true });
});

const request = (context: string, sibling: number, temperature = 1): PolicyRequest => ({
  role: 'actor',
  context,
  sampling: { temperature, topP: 1, topK: 0, maxNewTokens: 10 },
  streamKey: streamKey({ seed: 1, scope: 'policy', uidSha: '', role: '', turn: 0, sibling }),
});
const REQUESTS = [
  request('Tom has', 0),
  request('Ann has 7', 1),
  request('Tom has', 2),
  request('12', 3, 0),
  request('Tom has', 4, 0.75),
];

describe('LocalPolicy.answer', () => {
  it('leaves no listener on a signal after many requests', async () => {
    const { signal } = new AbortController();
    for (let asked = 0; asked < 20; asked++) {
      await policy.answer(REQUESTS, { signal });
    }
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('gives what the runtime generates, in the order of the requests, as text', async () => {
    const answers = await policy.answer(REQUESTS, RUNNING);
    const expected = await host.generate(
      policy.snapshot,
      REQUESTS.map(({ context, sampling, streamKey: key }) => ({
        ...sampling,
        prompt: tokenizer.encode(context),
        endToken: tokenizer.endToken,
        streamKey: key,
      })),
      RUNNING,
    );
    assert.deepEqual(
      answers.map(({ tokens, logprobs, finish, reusedTokens }) => ({ tokens, logprobs, finish, reusedTokens })),
      expected.map(({ tokens, logprobs, finish, reusedTokens }) => ({ tokens, logprobs, finish, reusedTokens })),
    );
    answers.forEach(({ text, prompt, tokens }, index) => {
      assert.equal(text, tokenizer.decode(tokens));
      assert.deepEqual(prompt, tokenizer.encode(REQUESTS[index]?.context ?? ''));
    });
    // The third request shares its context with the first; so does the fifth, which asks at another temperature and
    // computes the last token itself.
    const [first] = answers;
    const whole = first?.prompt.length ?? 0;
    assert.deepEqual(
      answers.map(({ reusedTokens }) => reusedTokens),
      [0, 0, whole, 0, whole - 1],
    );
  });

  it('gives a request the same answer whatever is beside it', async () => {
    const together = await policy.answer(REQUESTS, RUNNING);
    const key = ({ text, tokens, logprobs, finish, prompt }: PolicyAnswer): unknown => ({
      text,
      tokens,
      logprobs,
      finish,
      prompt,
    });
    for (const [index, one] of REQUESTS.entries()) {
      const alone = await policy.answer([one], RUNNING);
      assert.deepEqual(alone.map(key), together.slice(index, index + 1).map(key));
    }
  });

  it('reports each answer once, with its own index', async () => {
    const told = new Map<number, PolicyAnswer>();
    const answers = await policy.answer(REQUESTS, {
      ...RUNNING,
      onAnswer: (index, answer) => {
        assert.ok(!told.has(index));
        told.set(index, answer);
      },
    });
    assert.deepEqual(
      [...told.entries()].sort(([a], [b]) => a - b).map(([, answer]) => answer),
      answers,
    );
  });

  it('leaves the end token in the tokens and out of the text', async () => {
    const many = await policy.answer(
      Array.from({ length: 200 }, (_, sibling) => request('Tom has', sibling)),
      RUNNING,
    );
    const ended = many.filter(({ finish }) => finish === 'end');
    assert.ok(ended.length > 0 && ended.length < many.length);
    for (const { tokens, text } of ended) {
      assert.equal(tokens.indexOf(tokenizer.endToken), tokens.length - 1);
      assert.ok(!text.includes('<|end|>'));
    }
  });

  it('refuses an empty context, one that is too long, and a cancelled call', async () => {
    const refusal = (error: unknown): boolean => error instanceof C3Error && error.kind === 'input';
    await assert.rejects(policy.answer([request('', 0)], RUNNING), refusal);
    await assert.rejects(policy.answer([request('7'.repeat(119), 0)], RUNNING), refusal);
    assert.equal((await policy.answer([request('7'.repeat(118), 0)], RUNNING)).length, 1);
    await assert.rejects(policy.answer(REQUESTS, { signal: AbortSignal.abort() }), CancelledError);
  });

  it('knows its snapshot and environment', async () => {
    assert.deepEqual(await host.snapshots(), [policy.snapshot]);
    assert.deepEqual(policy.environment, host.environment);
  });
});

describe('LocalPolicy.typed', () => {
  it('is the text with an end token, scored in its context', async () => {
    const typed = await policy.typed(
      { role: 'actor', context: 'Tom has', text: ' 12 apples', temperature: 0.75 },
      RUNNING,
    );
    const [prompt, tokens] = [
      tokenizer.encode('Tom has'),
      Int32Array.from([...tokenizer.encode(' 12 apples'), tokenizer.endToken]),
    ];
    const empty = new Float32Array(tokens.length);
    const [[logprobs] = []] = await host.score(
      policy.snapshot,
      [{ prompt, messages: [{ tokens, behaviour: empty, reference: empty, advantages: empty }] }],
      0.75,
      RUNNING.signal,
    );
    assert.deepEqual(typed, { text: ' 12 apples', prompt, tokens, logprobs, finish: 'typed', reusedTokens: 0 });
    assert.ok(typed.logprobs.every((value) => value < 0));
  });

  it('scores a sampled message as it was sampled', async () => {
    const [sampled] = await policy.answer([request('Tom has', 3)], RUNNING);
    const message = {
      tokens: sampled?.tokens ?? new Int32Array(),
      behaviour: new Float32Array(),
      reference: new Float32Array(),
      advantages: new Float32Array(),
    };
    const [[logprobs] = []] = await host.score(
      policy.snapshot,
      [{ prompt: tokenizer.encode('Tom has'), messages: [message] }],
      1,
      RUNNING.signal,
    );
    assert.deepEqual(logprobs, sampled?.logprobs);
  });

  it('at temperature 0 is scored at 1, as greedy answers are', async () => {
    const [cold, one] = [
      await policy.typed({ role: 'actor', context: 'Tom has', text: ' 12', temperature: 0 }, RUNNING),
      await policy.typed({ role: 'actor', context: 'Tom has', text: ' 12', temperature: 1 }, RUNNING),
    ];
    assert.deepEqual(cold, one);
  });

  it('may be empty: the end token alone', async () => {
    const { tokens, logprobs, text } = await policy.typed(
      { role: 'actor', context: 'Tom has', text: '', temperature: 1 },
      RUNNING,
    );
    assert.deepEqual([[...tokens], logprobs.length, text], [[tokenizer.endToken], 1, '']);
  });

  it('is refused in an empty context and when cancelled', async () => {
    await assert.rejects(
      policy.typed({ role: 'actor', context: '', text: 'x', temperature: 1 }, RUNNING),
      (error) => error instanceof C3Error && error.kind === 'input',
    );
    await assert.rejects(
      policy.typed({ role: 'actor', context: 'Tom', text: 'x', temperature: 1 }, { signal: AbortSignal.abort() }),
      CancelledError,
    );
  });
});

describe('a conversation that is continued (memoryful)', () => {
  const opening = [
    { role: 'system', content: `${TEXTS.join(' ')} ${TEXTS.join(' ')}` },
    { role: 'user', content: TEXTS.join(' ') },
  ] as const;
  const turnAfter = (...responses: readonly string[]): string =>
    renderPlainMessages(
      writeTurnMessages(
        { memory: 'memoryful', prompts: true, responses: true },
        {
          opening,
          turns: responses.map((response) => ({ prompt: 'Tom', response, extracted: null })),
          asked: 'Tom',
          writes: 'response',
        },
      ),
    );

  it('gives the tokens of reading the history alone, and computes what branches share once', async () => {
    const contexts = [turnAfter('Tom has'), turnAfter('Ann has 7'), turnAfter('12'), turnAfter('12', 'Tom has')];
    const requests = contexts.map((context, sibling) => request(context, sibling));
    const together = await policy.answer(requests, RUNNING);
    const alone: PolicyAnswer[] = [];
    for (const one of requests) {
      alone.push(...(await policy.answer([one], RUNNING)));
    }
    const given = ({ prompt, tokens, logprobs }: PolicyAnswer): object => ({ prompt, tokens, logprobs });
    assert.deepEqual(together.map(given), alone.map(given));
    assert.ok(alone.every(({ reusedTokens }) => reusedTokens === 0));
    // The first turn is in the beginning of every branch; one of them computes it.
    const first = tokenizer.encode(renderPlainMessages(opening).trim()).length;
    const reused = together.map(({ reusedTokens }) => reusedTokens);
    assert.equal(reused.filter((count) => count === 0).length, 1, reused.join());
    assert.ok(
      reused.every((count) => count === 0 || count >= first),
      `${reused.join()} of ${first}`,
    );
    for (const [index, context] of contexts.entries()) {
      assert.deepEqual(together[index]?.prompt, tokenizer.encode(context));
    }
  });
});
