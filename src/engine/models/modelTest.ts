/**
 * The self-test of a model folder: it loads, reads and writes text, and computes the same bits alone,
 * in a batch and in training.
 */

import { readRequiredTemplate } from '../../policy/chatTemplate.ts';
import type { TextProcess } from '../../policy/textProcess.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { Completion, GenerationRequest } from '../../runtime/generate/generate.ts';
import type { ModelInfo, ModelRuntime } from '../../runtime/modelRuntime.ts';
import { resolveDevice } from '../../runtime/provider/device.ts';
import { startRuntime } from '../../runtime/remote.ts';
import type { DeviceRequest } from '../../shared/devices.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import type { ModelFacts, SelfTestProgress, SelfTestStep } from '../../shared/models.ts';
import { formatBytes, formatCount } from '../../shared/text/sizes.ts';
import { probeProvider } from '../machine/probing.ts';
import { WORKER_ENTRY } from '../places.ts';
import { readModelFacts } from './modelFacts.ts';
import { checkTokenizer } from './models.ts';
import { withTexts } from './texts.ts';

export interface SelfTestControl {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: SelfTestProgress) => void;
}

/** The default number of threads of a run. */
const THREADS = 2;
/** Words, numbers, indented code, accents, scripts without spaces, and a character of four bytes. */
const TEXTS = [
  'A reasoner and an actor solve it together.',
  '12 + 7 = 19, so 3.5 % of 1,000 is 35.',
  'def f(x):\n    return {"x": [x]}\n',
  'déjà vu, 你好，世界, Привет',
  'ends with 🙂',
];
const QUESTION = 'What is 12 + 7?';
const SYSTEM = 'Answer with one number.';
/** Prompts of different lengths, so that rows of a batch are padded. */
const PROMPTS = [
  QUESTION,
  'Count: one, two, three,',
  'A farmer has 12 hens and buys 7 more, then sells 4 of them on the market. How many hens does she have now?',
];
/** Limits of new tokens of an answer, and of parameters that all steps read: seconds on a CPU. */
const MOST_TOKENS = 16;
const FEWEST_TOKENS = 3;
const WEIGHTS_READ = 6e9;

/** The result of a step, in one line. A failed step throws or returns the failure. */
type Outcome = string | { readonly failure: string };

class SelfTest {
  readonly steps: SelfTestStep[] = [];
  private readonly control: SelfTestControl;

  constructor(control: SelfTestControl) {
    this.control = control;
  }

  /** Runs one step and records it. @returns undefined if it failed @throws CancelledError */
  async step<Result>(
    name: string,
    work: () => Promise<{ readonly result: Result; readonly outcome: Outcome }>,
  ): Promise<Result | undefined> {
    if (this.control.signal.aborted) {
      throw new CancelledError();
    }
    const started = performance.now();
    const end = (passed: boolean, detail: string): void => {
      const step = { name, passed, seconds: (performance.now() - started) / 1000, detail };
      this.steps.push(step);
      this.control.onProgress({ kind: 'step', step });
    };
    try {
      const { result, outcome } = await work();
      if (typeof outcome === 'string') {
        end(true, outcome);
      } else {
        end(false, outcome.failure);
      }
      return result;
    } catch (error) {
      if (error instanceof CancelledError) {
        throw error;
      }
      end(false, toErrorMessage(error));
      return undefined;
    }
  }
}

/**
 * Tests a model folder on a device. Steps that need the result of a failed step are left out.
 * @returns the steps in order
 * @throws CancelledError, after all resources are released
 */
export const testModel = (
  folder: string,
  device: DeviceRequest,
  control: SelfTestControl,
): Promise<readonly SelfTestStep[]> => withTexts(folder, (texts) => testModelWith(texts, device, control));

async function testModelWith(
  texts: TextProcess,
  device: DeviceRequest,
  control: SelfTestControl,
): Promise<readonly SelfTestStep[]> {
  const { folder } = texts;
  const test = new SelfTest(control);
  const facts = await test.step('Files', async () => {
    const result = await readModelFacts(texts, control.signal);
    return { result, outcome: formatModelFiles(result) };
  });
  if (facts === undefined) {
    return test.steps;
  }
  const tokenizer = await test.step('Tokenizer', async () => {
    const result = await texts.tokenizer(control.signal);
    return { result, outcome: await testRoundTrips(result) };
  });
  if (tokenizer === undefined) {
    return test.steps;
  }
  const opening = await test.step('Chat template', () => renderPrompts(texts, facts, tokenizer, control.signal));
  if (opening === undefined) {
    return test.steps;
  }
  let runtime: ModelRuntime | undefined;
  try {
    const info = await test.step('Loading', async () => {
      const { settings, remark } = await resolveDevice(device, THREADS, probeProvider);
      runtime = await startRuntime(WORKER_ENTRY, settings);
      const result = await runtime.load(
        folder,
        (done, total) => control.onProgress({ kind: 'load', done, total }),
        control.signal,
      );
      checkTokenizer(folder, tokenizer, result);
      return {
        result,
        outcome: `${formatBytes(facts.bytes)}, on ${settings.name ?? 'this machine'}${remark === null ? '' : `; ${remark}`}`,
      };
    });
    if (info !== undefined && runtime !== undefined) {
      await testComputing(test, runtime, info, tokenizer, opening, control.signal);
    }
    return test.steps;
  } finally {
    await runtime?.close();
  }
}

/** Tests generation, alone and in a batch, and scoring of the generated tokens. */
async function testComputing(
  test: SelfTest,
  runtime: ModelRuntime,
  info: ModelInfo,
  tokenizer: Tokenizer,
  prompts: readonly Int32Array[],
  signal: AbortSignal,
): Promise<void> {
  const { endToken, otherEndTokens } = tokenizer;
  // Each new token reads all weights three times: alone, in the batch, and for scoring.
  const affordable = Math.floor(WEIGHTS_READ / (3 * info.parameters));
  const maxNewTokens = Math.min(MOST_TOKENS, Math.max(FEWEST_TOKENS, affordable));
  const requests = prompts.map((prompt): GenerationRequest => ({
    prompt,
    maxNewTokens,
    endToken,
    otherEndTokens,
    temperature: 0,
    topP: 1,
    topK: 0,
    streamKey: '',
  }));
  const control = { signal };
  const batched = await test.step('Generation', async () => {
    const alone = await runtime.generate(info.snapshot, requests.slice(0, 1), control);
    const started = performance.now();
    const result = await runtime.generate(info.snapshot, requests, control);
    const seconds = (performance.now() - started) / 1000;
    const difference = describeFirstDifference(alone, result);
    const tokens = result.reduce((total, completion) => total + completion.tokens.length, 0);
    if (difference !== null) {
      return { result, outcome: { failure: `alone and in a batch differ: ${difference}` } };
    }
    return {
      result,
      outcome: `alone and in a batch of ${requests.length} the same bits; ${(tokens / seconds).toFixed(1)} tokens/s in the batch, reading the prompts included`,
    };
  });
  if (batched === undefined) {
    return;
  }
  await test.step('Scoring', async () => {
    const contexts = batched.map(({ tokens }, index) => {
      const unused = new Float32Array(tokens.length);
      return {
        prompt: prompts[index] ?? new Int32Array(),
        messages: [{ tokens, behaviour: unused, reference: unused, advantages: unused }],
      };
    });
    const scored = await runtime.score(info.snapshot, contexts, 1, signal);
    const difference = describeFirstDifference(
      batched,
      batched.map((completion, index) => ({ ...completion, logprobs: scored[index]?.[0] ?? new Float32Array() })),
    );
    const tokens = batched.reduce((total, completion) => total + completion.tokens.length, 0);
    return {
      result: null,
      outcome:
        difference === null
          ? `${tokens} log-probabilities are those of sampling, bit for bit`
          : { failure: `sampling and scoring differ: ${difference}` },
    };
  });
}

/** Describes the first difference of completions; null if tokens and log-probabilities are equal. */
export function describeFirstDifference(
  ones: readonly Pick<Completion, 'tokens' | 'logprobs'>[],
  others: readonly Pick<Completion, 'tokens' | 'logprobs'>[],
): string | null {
  for (const [index, one] of ones.entries()) {
    const other = others[index];
    const place = `answer ${index + 1}`;
    if (one.tokens.length !== other?.tokens.length) {
      return `${place} has ${one.tokens.length} tokens and ${other?.tokens.length ?? 0}`;
    }
    for (let token = 0; token < one.tokens.length; token++) {
      if (one.tokens[token] !== other.tokens[token]) {
        return `${place} has the token ${String(one.tokens[token])} and ${String(other.tokens[token])} at place ${token}`;
      }
      if (!Object.is(one.logprobs[token], other.logprobs[token])) {
        return `${place} has the log-probability ${String(one.logprobs[token])} and ${String(other.logprobs[token])} at place ${token}`;
      }
    }
  }
  return null;
}

/** Converts texts to token ids and back. */
async function testRoundTrips(tokenizer: Tokenizer): Promise<Outcome> {
  const back = await Promise.all(
    TEXTS.map(async (text) => ({ text, again: await tokenizer.decode(await tokenizer.encode(text)) })),
  );
  const changed = back.find(({ text, again }) => again !== text);
  if (changed !== undefined) {
    return { failure: `${JSON.stringify(changed.text)} comes back as ${JSON.stringify(changed.again.slice(0, 100))}` };
  }
  return `${TEXTS.length} texts come back as they were; ${tokenizer.vocabularySize} tokens`;
}

/**
 * Renders the prompts for the model.
 * @throws C3Error('model') if the template refuses the messages of a run
 */
async function renderPrompts(
  texts: TextProcess,
  { chatTemplate, reasons }: ModelFacts,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<{ readonly result: readonly Int32Array[]; readonly outcome: Outcome }> {
  if (chatTemplate === null) {
    return {
      result: await Promise.all(PROMPTS.map(async (text) => tokenizer.encodeWhole(text))),
      outcome: 'none; the model reads plain text',
    };
  }
  const render = await texts.chat(await readRequiredTemplate(texts.folder), signal);
  const prompts = await Promise.all(
    PROMPTS.map((content) =>
      render([
        { role: 'system', content: SYSTEM },
        { role: 'user', content },
      ]),
    ),
  );
  const result = await Promise.all(prompts.map(async (text) => tokenizer.encode(text)));
  const lost = prompts.find((text, index) => !text.includes(PROMPTS[index] ?? '') || !text.includes(SYSTEM));
  if (lost !== undefined) {
    return { result, outcome: { failure: `${chatTemplate} leaves out the system prompt or the question` } };
  }
  return {
    result,
    outcome: `${chatTemplate} renders a system prompt and a question in ${result[0]?.length ?? 0} tokens${reasons ? ', reasoning off' : ''}`,
  };
}

const formatModelFiles = ({ family, parameters, precisions, files, bytes }: ModelFacts): string =>
  `${family}, ${formatCount(parameters)} parameters as ${precisions.map(({ dtype }) => dtype).join(' and ')}, ${formatBytes(bytes)} in ${files} ${files === 1 ? 'file' : 'files'}`;
