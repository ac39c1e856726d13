/**
 * A team small enough for tests: it answers sums with `#### 3` or `#### 4` by chance, so that returns differ and
 * credits are not all 0.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../../src/domain/problem.ts';
import { loadTokenizer, TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from '../../../src/policy/tokenizer.ts';
import { trainBpe } from '../../../src/policy/trainBpe.ts';
import { initialParameters, saveModel } from '../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import { Trainer } from '../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../src/runtime/train/trainingState.ts';
import { uidSha } from '../../../src/tasks/uid.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderContext, renderPlain } from '../../../src/team/render.ts';

export const PAIR_TEXT = JSON.stringify({
  name: 'pair',
  roles: [
    { role: 'reasoner', prompt: 'Plan.', max_new_tokens: 4 },
    { role: 'actor', prompt: 'Solve.', with_answer: true, depends_on: ['reasoner'], max_new_tokens: 6 },
  ],
});
/** A planner, two solvers that do not see each other, and one who integrates. */
export const FOUR_TEXT = JSON.stringify({
  name: 'four',
  roles: [
    { role: 'planner', prompt: 'Plan.', max_new_tokens: 4 },
    { role: 'left', prompt: 'Solve.', depends_on: ['planner'], max_new_tokens: 6 },
    { role: 'right', prompt: 'Solve.', depends_on: ['planner'], max_new_tokens: 6 },
    { role: 'integrator', prompt: 'Solve.', with_answer: true, depends_on: ['left', 'right'], max_new_tokens: 6 },
  ],
});
export const PAIR: Protocol = parseProtocol(PAIR_TEXT, 'pair.json');
export const FOUR: Protocol = parseProtocol(FOUR_TEXT, 'four.json');

/** Sums from `first` on whose answer is 3 or 4. */
export function sums(count: number, first = 0): Problem[] {
  return Array.from({ length: count }, (_, index) => {
    const number = first + index;
    const answer = String(3 + (number % 2));
    const question = `Box ${number} holds 2 pens and gets ${Number(answer) - 2} more. How many pens are in it?`;
    return { uid: `sum-${number}`, uidSha: uidSha(question), question, answer, source: 'sums', level: null };
  });
}

/** The problems in GSM8K's form, one JSON object a line. */
export function jsonl(problems: readonly Problem[]): string {
  return problems
    .map(
      ({ question, answer }) =>
        `${JSON.stringify({ question, answer: `2 and ${Number(answer) - 2} more.\n#### ${answer}` })}\n`,
    )
    .join('');
}

export interface TeamOptions {
  readonly hiddenSize?: number;
  readonly seed?: number;
  /** Supervised steps; 0 leaves the weights random. */
  readonly steps?: number;
}

const PLANS = ['2+1', '2+2'];
const ANSWERS = ['#### 3', '#### 4'];

/** Writes a model folder: tokenizer, config.json, model.safetensors. The same options give the same bytes. */
export async function makeTeam(
  folder: string,
  { hiddenSize = 32, seed = 1, steps = 40 }: TeamOptions = {},
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const problems = sums(16, 1000);
  const texts = [
    ...problems.map(({ question }) => renderPlain(renderContext(PAIR, 0, question, new Map()))),
    ...PLANS,
    ...ANSWERS,
  ].flatMap((text) => [text, text]);
  const { tokenizer: json, config: settings } = trainBpe(texts, 320);
  await writeFile(join(folder, TOKENIZER_FILE), JSON.stringify(json));
  await writeFile(join(folder, TOKENIZER_CONFIG_FILE), JSON.stringify(settings));
  const tokenizer = await loadTokenizer(folder);
  const config: TransformerConfig = {
    vocabularySize: tokenizer.vocabularySize,
    hiddenSize,
    intermediateSize: 64,
    layers: 2,
    heads: 4,
    keyValueHeads: 2,
    headDim: 8,
    rmsEpsilon: 1e-6,
    ropeTheta: 10000,
    maxPositions: 256,
    tieEmbeddings: true,
  };
  const demonstration = (context: string, message: string): TrainingContext => {
    const tokens = Int32Array.from([...tokenizer.encode(message), tokenizer.endToken]);
    const unused = new Float32Array(tokens.length);
    return {
      prompt: tokenizer.encode(context),
      messages: [{ tokens, behaviour: unused, reference: unused, advantages: unused }],
    };
  };
  const contexts = problems.flatMap(({ question }, index) => {
    const plan = PLANS[index % 2] ?? '';
    return [
      demonstration(renderPlain(renderContext(PAIR, 0, question, new Map())), plan),
      demonstration(
        renderPlain(renderContext(PAIR, 1, question, new Map([[0, plan]]))),
        ANSWERS[Math.floor(index / 2) % 2] ?? '',
      ),
    ];
  });
  let state = initialState(initialParameters(config, seed));
  const trainer = new Trainer(config, { threads: 1 });
  for (let step = 0; step < steps; step++) {
    const batch = contexts.filter((_, index) => (index >> 1) % 2 === step % 2);
    ({ state } = await trainer.step(
      state,
      batch,
      { loss: 'supervised', learningRate: 1e-2, temperature: 1, klCoefficient: 0 },
      new AbortController().signal,
    ));
  }
  await trainer.release();
  await saveModel(folder, { config, parameters: state.parameters }, 'F32');
}
