import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Generator, type Completion, type GenerationRequest } from '../../../../src/runtime/generate/generate.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import { DEVICE, message, request, RUNNING, testParameters, TINY } from '../models.ts';
import { item, present, range, testKey, total } from '../nd.ts';

const CONFIG: TransformerConfig = { ...TINY, maxPositions: 200 };
const FLAT = testParameters(CONFIG);
/** No token of the vocabulary: only the length ends a message. */
const NEVER = -1;

let generator: Generator;
let trainer: Trainer;
before(async () => {
  generator = await Generator.create(CONFIG, DEVICE);
  trainer = new Trainer(CONFIG, DEVICE);
});
after(async () => {
  await generator.release();
  await trainer.release();
});

const generate = (requests: readonly GenerationRequest[]): Promise<Completion[]> =>
  generator.generate(FLAT, requests, RUNNING);
const alone = async (one: GenerationRequest): Promise<Completion> => present((await generate([one]))[0]);
/** What must not depend on the batch. */
const bytes = ({ tokens, logprobs, finish, promptTokens }: Completion): unknown => ({
  tokens,
  logprobs,
  finish,
  promptTokens,
});

/** Prompts of 1 to 150 tokens, answers of 1 to 40, two temperatures, truncation in some. */
const MIXED = range(14).map((index) =>
  request(`mixed ${index}`, 1 + ((index * 37) % 150), 1 + ((index * 11) % 40), {
    temperature: index % 3 === 0 ? 0.75 : 1,
    topK: index % 4 === 1 ? 5 : 0,
    topP: index % 5 === 2 ? 0.8 : 1,
  }),
);

/** The score graph's log-probabilities of each completion, alone in its row. */
async function scored(
  requests: readonly GenerationRequest[],
  completions: readonly Completion[],
  temperature: number,
): Promise<Float32Array[]> {
  const contexts = requests.map(({ prompt }, index) => ({
    prompt,
    messages: [message(present(completions[index]).tokens)],
  }));
  return (await trainer.score(FLAT, contexts, temperature, RUNNING.signal)).map((messages) => present(messages[0]));
}

describe('generation and the score graph', () => {
  it('greedy is the chain of most likely tokens', async () => {
    const requests = [
      request('greedy a', 5, 8, { temperature: 0, endToken: NEVER }),
      request('greedy b', 17, 8, { temperature: 0, endToken: NEVER }),
    ];
    const completions = await generate(requests);
    const chains = await Promise.all(
      requests.map(async ({ prompt }) => {
        const chain: number[] = [];
        while (chain.length < 8) {
          // Every token of the vocabulary as a message of its own.
          const every = range(CONFIG.vocabularySize).map((token) => message(Int32Array.of(token)));
          const [logprobs = []] = await trainer.score(
            FLAT,
            [{ prompt: Int32Array.from([...prompt, ...chain]), messages: every }],
            1,
            RUNNING.signal,
          );
          const values = logprobs.map((one) => item(one, 0));
          assert.ok(Math.abs(total(values.map(Math.exp)) - 1) < 1e-5);
          chain.push(values.indexOf(Math.max(...values)));
        }
        return chain;
      }),
    );
    assert.deepEqual(
      completions.map(({ tokens }) => [...tokens]),
      chains,
    );
  });

  it('log-probabilities agree bit for bit at any temperature, prompt and length', async () => {
    for (const temperature of [1, 0.75]) {
      const requests = MIXED.map((one) => ({ ...one, temperature, endToken: NEVER }));
      const completions = await generate(requests);
      assert.deepEqual(
        completions.map(({ logprobs }) => logprobs),
        await scored(requests, completions, temperature),
      );
    }
  });

  it('greedy log-probabilities are those of temperature 1', async () => {
    const requests = MIXED.slice(0, 4).map((one) => ({ ...one, temperature: 0 }));
    const completions = await generate(requests);
    assert.deepEqual(
      completions.map(({ logprobs }) => logprobs),
      await scored(requests, completions, 1),
    );
  });
});

describe('what is beside a request', () => {
  it('changes no bit of its answer: alone, in pairs, reversed, all together', async () => {
    const together = await generate(MIXED);
    const reversed = (await generate([...MIXED].reverse())).reverse();
    assert.deepEqual(reversed.map(bytes), together.map(bytes));
    for (const [index, one] of MIXED.entries()) {
      assert.deepEqual(bytes(await alone(one)), bytes(present(together[index])));
      const [pair] = await generate([one, present(MIXED[(index + 5) % MIXED.length])]);
      assert.deepEqual(bytes(present(pair)), bytes(present(together[index])));
    }
  });

  it('nor do far more requests than rows, which take the places of those that ended', async () => {
    const many = range(600).map((index) =>
      request(`many ${index % 97}`, 1 + (index % 13), 1 + ((index * 7) % 9), { streamKey: testKey('many', index) }),
    );
    const told: number[] = [];
    const completions = await generator.generate(FLAT, many, {
      ...RUNNING,
      onCompletion: (index, completion) => {
        told[index] = (told[index] ?? 0) + completion.tokens.length;
      },
    });
    assert.deepEqual(
      told,
      completions.map(({ tokens }) => tokens.length),
    );
    assert.deepEqual((await generate([...many].reverse())).reverse().map(bytes), completions.map(bytes));
    for (const index of [0, 1, 255, 256, 300, 511, 599]) {
      assert.deepEqual(bytes(await alone(present(many[index]))), bytes(present(completions[index])));
    }
  });

  it('nor do more requests of one prompt than rows', async () => {
    const siblings = range(600).map((index) =>
      request('one prompt', 90, 1 + ((index * 7) % 9), { streamKey: testKey('siblings', index), endToken: NEVER }),
    );
    const others = range(3).map((index) => request(`other ${index}`, 91 + index, 4));
    const completions = await generate([...siblings, ...others]);
    for (const index of [0, 1, 255, 256, 257, 400, 511, 512, 599, 600, 602]) {
      const one = present([...siblings, ...others][index]);
      assert.deepEqual(bytes(await alone(one)), bytes(present(completions[index])));
    }
  });
});

describe('the end of a message', () => {
  const free = request('free', 6, 30, { endToken: NEVER });

  it('is the longest length without an end token', async () => {
    const { tokens, logprobs, finish, promptTokens } = await alone(free);
    assert.deepEqual([tokens.length, logprobs.length, finish, promptTokens], [30, 30, 'length', 6]);
  });

  it('is the end token, which belongs to it', async () => {
    const { tokens, logprobs } = await alone(free);
    const endToken = item(tokens, 7);
    const length = tokens.indexOf(endToken) + 1;
    const ended = await alone({ ...free, endToken });
    assert.deepEqual(
      [ended.tokens, ended.logprobs, ended.finish],
      [tokens.slice(0, length), logprobs.slice(0, length), 'end'],
    );
    const exactly = await alone({ ...free, endToken, maxNewTokens: length });
    assert.equal(exactly.finish, 'end');
    const cut = await alone({ ...free, maxNewTokens: 3 });
    assert.deepEqual([cut.tokens, cut.finish], [tokens.slice(0, 3), 'length']);
  });

  it('may be the first token', async () => {
    const { tokens } = await alone(free);
    const ended = await alone({ ...free, endToken: item(tokens, 0) });
    assert.deepEqual([[...ended.tokens], ended.finish], [[item(tokens, 0)], 'end']);
  });
});

describe('sampling', () => {
  const siblings = (count: number, more: Partial<GenerationRequest> = {}): GenerationRequest[] =>
    range(count).map((index) =>
      request('shared', 20, 6, { endToken: NEVER, streamKey: testKey('sibling', index), ...more }),
    );

  it('one stream gives one answer, siblings differ', async () => {
    const answers = (await generate(siblings(6))).map(({ tokens }) => tokens.join());
    assert.equal(new Set(answers).size, 6);
    assert.deepEqual(
      (await generate(siblings(6))).map(({ tokens }) => tokens.join()),
      answers,
    );
  });

  it('the first of topK 1 is the greedy answer at another temperature', async () => {
    const [greedy, first] = await generate([
      request('one', 9, 10, { temperature: 0, endToken: NEVER }),
      request('one', 9, 10, { temperature: 0.75, topK: 1, endToken: NEVER }),
    ]);
    assert.deepEqual(present(first).tokens, present(greedy).tokens);
    assert.notDeepEqual(present(first).logprobs, present(greedy).logprobs);
  });

  it('a shared prompt is computed once and counted as reused', async () => {
    const completions = await generate([
      ...siblings(5),
      request('other', 12, 6),
      ...siblings(2, { temperature: 0.75 }),
    ]);
    // Another temperature computes the last token for itself.
    assert.deepEqual(
      completions.map(({ reusedTokens }) => reusedTokens),
      [0, 20, 20, 20, 20, 0, 19, 20],
    );
    assert.deepEqual(
      completions.map(({ promptTokens }) => promptTokens),
      [20, 20, 20, 20, 20, 12, 20, 20],
    );
    for (const [index, one] of siblings(5).entries()) {
      assert.deepEqual(bytes(await alone(one)), bytes(present(completions[index])));
    }
  });

  it('a prompt shared by more requests than rows is computed once, too', async () => {
    const reused = (await generate(siblings(300))).map(({ reusedTokens }) => reusedTokens);
    assert.deepEqual(reused, [0, ...Array.from({ length: 299 }, () => 20)]);
  });
});

describe('what generation refuses', () => {
  const BAD: readonly (readonly [what: string, request: GenerationRequest, message: RegExp])[] = [
    ['an empty prompt', request('empty', 0, 5), /Request 1 has an empty prompt/],
    ['too many positions', request('long', 150, 51), /Request 1 needs 201 positions where the model has 200/],
    ['no new tokens', request('none', 5, 0), /Request 1 asks for no new tokens/],
    [
      'an unknown token',
      { ...request('unknown', 5, 5), prompt: Int32Array.of(3, 22) },
      /Request 1 has the token id 22 where the model knows 22/,
    ],
  ];
  for (const [what, bad, pattern] of BAD) {
    it(`${what}, before it begins`, async () => {
      const told: number[] = [];
      await assert.rejects(
        generator.generate(FLAT, [request('good', 5, 5), bad], {
          ...RUNNING,
          onCompletion: (index) => told.push(index),
        }),
        (error) => error instanceof C3Error && error.kind === 'input' && pattern.test(error.message),
      );
      assert.deepEqual(told, []);
    });
  }

  it('nothing: no requests, no answers', async () => assert.deepEqual(await generate([]), []));
});

describe('cancelling', () => {
  it('stops before the next step; answers that ended were handed out', async () => {
    const requests = [request('short', 4, 1, { endToken: NEVER }), request('long', 4, 100, { endToken: NEVER })];
    const told: number[] = [];
    let asked = 0;
    await assert.rejects(
      generator.generate(FLAT, requests, {
        signal: makeSignalAbortedWhen(() => ++asked === 4),
        onCompletion: (index, { tokens }) => told.push(index, tokens.length),
      }),
      CancelledError,
    );
    assert.deepEqual([asked, told], [4, [0, 1]]);
  });

  it('stops before anything', async () => {
    await assert.rejects(
      generator.generate(FLAT, [request('never', 4, 1)], {
        signal: AbortSignal.abort(),
        onCompletion: () => assert.fail(),
      }),
      CancelledError,
    );
  });
});
