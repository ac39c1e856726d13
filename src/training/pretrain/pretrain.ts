/**
 * Supervised pretraining of the bundled team on generated demonstrations. It can be resumed: every
 * step is a function of (seed, step) alone.
 */

import { appendFile, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadTokenizer, TOKENIZER_CONFIG_FILE, TOKENIZER_FILE, type LoadedTokenizer } from '../../policy/tokenizer.ts';
import { trainBpe } from '../../policy/trainBpe.ts';
import { writeFileAtomically } from '../../runtime/files/wholeFile.ts';
import {
  initialParameters,
  loadModel,
  loadParameters,
  parameterCount,
  saveModel,
  saveParameters,
} from '../../runtime/model/model.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import type { DeviceSettings } from '../../runtime/session/session.ts';
import type { TrainingContext } from '../../runtime/train/graph/pack.ts';
import { Trainer } from '../../runtime/train/trainer.ts';
import { initialState, type TrainingState } from '../../runtime/train/trainingState.ts';
import type { DemonstratedProblem } from '../../tasks/demonstration.ts';
import { generateSplit, type TaskName } from '../../tasks/split.ts';
import type { Protocol } from '../../team/protocol.ts';
import { renderContext, renderPlain } from '../../team/render.ts';
import { makeCosineSchedule } from '../schedule.ts';
import { isRevised, makeRevisions, type Examine } from './revisions.ts';

export interface PretrainSettings {
  /** The folder of the finished team; the log is written beside the weights. */
  readonly folder: string;
  /** The folder for checkpoints of an unfinished pretraining. */
  readonly workFolder: string;
  readonly task: TaskName;
  readonly seed: number;
  readonly phases: readonly PretrainPhase[];
  readonly problemsPerStep: number;
  readonly checkpointEvery: number;
  readonly vocabularySize: number;
  readonly architecture: Omit<TransformerConfig, 'vocabularySize'>;
  readonly device: DeviceSettings;
  /** Executes drafts for the feedback on them; required if a phase has second turns. */
  readonly examine?: Examine;
  /** The folder of the team whose weights and tokenizer it begins with; by default new weights. */
  readonly beginning?: string;
  /** Steps of the recipe that the folder's weights have already had; its tokenizer is kept. */
  readonly after?: number;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

/** A range of steps with its own data and learning rate. The optimizer's state continues. */
export interface PretrainPhase {
  readonly steps: number;
  /** Steps after which the rate is at its floor, if the phase ends earlier. */
  readonly decaySteps?: number;
  /** Mix weights of the task's levels. */
  readonly levels: readonly number[];
  /** Shares of hasty demonstrations: for the easier half of the task, and for the rest. */
  readonly hasty: { readonly short: number; readonly long: number };
  /** Share of the problems that show the revision of a draft in place of a first turn; 0 by default. */
  readonly revised?: number;
  /** As in makeCosineSchedule. */
  readonly peak: number;
  readonly warmupFraction: number;
  readonly floorFraction: number;
}

export const LOG_FILE = 'pretrain.log.jsonl';
const TOKENIZER_SAMPLE = 5000;

/** Runs or continues a pretraining and writes the team's folder, with float16 weights. */
export async function pretrain(settings: PretrainSettings, protocol: Protocol): Promise<void> {
  await mkdir(settings.workFolder, { recursive: true });
  await mkdir(settings.folder, { recursive: true });
  const { after = 0 } = settings;
  if (after === 0) {
    await (settings.beginning === undefined
      ? writeTokenizer(settings, protocol, generatePhaseProblems(settings, 0, TOKENIZER_SAMPLE))
      : copyTokenizer(settings.beginning, settings.folder));
  }
  const tokenizer = await loadTokenizer(settings.folder);
  const config: TransformerConfig = { ...settings.architecture, vocabularySize: tokenizer.vocabularySize };
  let state =
    (await loadLatestCheckpoint(settings, config)) ?? initialState(await loadFirstParameters(settings, config));
  const log = join(settings.folder, LOG_FILE);
  if (state.step === 0) {
    await keepLog(log, after);
  }
  settings.report(
    `${parameterCount(config)} parameters, ${tokenizer.vocabularySize} tokens, from step ${after + state.step}`,
  );
  const trainer = new Trainer(config, settings.device);
  // The optimizer counts its own steps only; those of earlier weights come before its first.
  let first = -after;
  for (const [index, phase] of settings.phases.entries()) {
    const rate = makeCosineSchedule({
      peak: phase.peak,
      warmupFraction: phase.warmupFraction,
      totalSteps: phase.decaySteps ?? phase.steps,
      floorFraction: phase.floorFraction,
    });
    const isOpen = state.step < first + phase.steps;
    const problems = isOpen ? generatePhaseProblems(settings, index, phase.steps * settings.problemsPerStep) : [];
    while (state.step < first + phase.steps) {
      const started = performance.now();
      const done = state.step - first;
      const batch = problems.slice(done * settings.problemsPerStep, (done + 1) * settings.problemsPerStep);
      const contexts = await makeStepContexts(settings, phase, batch, protocol, tokenizer);
      const learningRate = rate(done);
      const result = await trainer.step(
        state,
        contexts,
        { loss: 'supervised', learningRate, temperature: 1, klCoefficient: 0 },
        settings.signal,
      );
      state = result.state;
      const line = {
        step: after + state.step,
        loss: roundToFiveDigits(result.loss),
        gradientNorm: roundToFiveDigits(result.gradientNorm),
        learningRate: roundToFiveDigits(learningRate),
        milliseconds: Math.round(performance.now() - started),
      };
      await appendFile(log, `${JSON.stringify(line)}\n`);
      if (state.step % 10 === 0) {
        settings.report(JSON.stringify(line));
      }
      if (state.step % settings.checkpointEvery === 0 || state.step === first + phase.steps) {
        await saveTrainingCheckpoint(settings, config, state);
      }
    }
    first += phase.steps;
  }
  await trainer.release();
  await saveModel(settings.folder, { config, parameters: state.parameters }, 'F16');
}

/** Returns the demonstrations of a step's problems, in their order. */
async function makeStepContexts(
  { examine }: PretrainSettings,
  { hasty, revised = 0 }: PretrainPhase,
  batch: readonly DemonstratedProblem[],
  protocol: Protocol,
  tokenizer: LoadedTokenizer,
): Promise<TrainingContext[]> {
  const shown = batch.map(async (problem) =>
    isRevised(problem, revised)
      ? (await makeRevisions(problem, protocol, examine)).map(({ context, message }) =>
          tokenizeDemonstration(tokenizer, context, message),
        )
      : makeDemonstrations(problem, hasty, protocol, tokenizer),
  );
  return (await Promise.all(shown)).flat();
}

/** Returns the first parameters: those of the folder or the beginning, or new ones from the seed. */
async function loadFirstParameters(
  { after = 0, folder, beginning, seed }: PretrainSettings,
  config: TransformerConfig,
): Promise<Float32Array> {
  const held = after === 0 ? beginning : folder;
  return held === undefined ? initialParameters(config, seed) : (await loadModel(held)).parameters;
}

/** Keeps only the lines of a log for the steps before. */
async function keepLog(path: string, after: number): Promise<void> {
  const text = after === 0 ? '' : await readFile(path, 'utf8');
  const kept = text.split('\n').filter((line) => Number(/^\{"step":(\d+),/u.exec(line)?.[1] ?? Infinity) <= after);
  await writeFileAtomically(path, Buffer.from(kept.map((line) => `${line}\n`).join('')));
}

/** Returns the first problems of a phase, at most as many as it has. */
function generatePhaseProblems(
  { task, seed, phases, problemsPerStep }: PretrainSettings,
  index: number,
  most: number,
): readonly DemonstratedProblem[] {
  const { steps = 0, levels = [] } = phases[index] ?? {};
  const train = Math.min(most, steps * problemsPerStep);
  return generateSplit({ task, seed: `pretrain-${seed + index}`, train, evaluation: 0, levels }).train;
}

/**
 * Returns a problem's demonstrations, one for each message: the plan for the first role, the solution
 * for the second, which sees the plan. A share of them is hasty (an answer without its steps, or a
 * program that forgets an edge case), because people's demonstrations also differ in care. So the
 * supervised team knows a better and a worse way to answer, and reinforcement learning can choose
 * between them.
 */
export function makeDemonstrations(
  problem: DemonstratedProblem,
  shares: PretrainPhase['hasty'],
  protocol: Protocol,
  tokenizer: LoadedTokenizer,
): TrainingContext[] {
  const { question, alone } = problem;
  const said = chooseShownMessages(problem, shares);
  const shown = said.map((message, position) =>
    tokenizeDemonstration(tokenizer, renderContextAt(protocol, position, question, said), message),
  );
  const silent = said.map(() => '');
  return alone === undefined
    ? shown
    : [...shown, tokenizeDemonstration(tokenizer, renderContextAt(protocol, said.length - 1, question, silent), alone)];
}

function chooseShownMessages(
  { uidSha, short, said, saidInHaste }: DemonstratedProblem,
  shares: PretrainPhase['hasty'],
): readonly string[] {
  return hashToShare(uidSha) < (short ? shares.short : shares.long) ? saidInHaste : said;
}

/** Returns the context of the role at a position after the messages before it. */
const renderContextAt = (protocol: Protocol, position: number, question: string, said: readonly string[]): string =>
  renderPlain(renderContext(protocol, position, question, new Map(said.entries())));

/** Returns a number in [0, 1) from eight hex digits of a hash that the split does not use. */
const hashToShare = (sha: string): number => Number.parseInt(sha.slice(8, 16), 16) / 0x1_0000_0000;

function tokenizeDemonstration(tokenizer: LoadedTokenizer, context: string, message: string): TrainingContext {
  const tokens = Int32Array.from([...tokenizer.encode(message), tokenizer.endToken]);
  const unused = new Float32Array(tokens.length);
  return {
    prompt: tokenizer.encode(context),
    messages: [{ tokens, behaviour: unused, reference: unused, advantages: unused }],
  };
}

async function writeTokenizer(
  settings: PretrainSettings,
  protocol: Protocol,
  problems: readonly DemonstratedProblem[],
): Promise<void> {
  const shares = settings.phases[0]?.hasty ?? { short: 0, long: 0 };
  const texts = problems.flatMap((problem) => {
    const said = chooseShownMessages(problem, shares);
    return [...said.map((_, position) => renderContextAt(protocol, position, problem.question, said)), ...said];
  });
  const { tokenizer, config } = trainBpe(texts, settings.vocabularySize);
  await writeFile(join(settings.folder, TOKENIZER_FILE), JSON.stringify(tokenizer));
  await writeFile(join(settings.folder, TOKENIZER_CONFIG_FILE), `${JSON.stringify(config, null, 2)}\n`);
}

async function copyTokenizer(from: string, to: string): Promise<void> {
  for (const file of [TOKENIZER_FILE, TOKENIZER_CONFIG_FILE]) {
    await copyFile(join(from, file), join(to, file));
  }
}

const VECTORS = ['parameters', 'momentum', 'variance'] as const;

async function saveTrainingCheckpoint(
  settings: PretrainSettings,
  config: TransformerConfig,
  state: TrainingState,
): Promise<void> {
  const folder = join(settings.workFolder, `step-${state.step}`);
  await mkdir(folder, { recursive: true });
  for (const vector of VECTORS) {
    await saveParameters(config, state[vector], join(folder, `${vector}.safetensors`));
  }
  const pointer = join(settings.workFolder, 'latest');
  await writeFileAtomically(pointer, Buffer.from(String(state.step)));
}

async function loadLatestCheckpoint(
  settings: PretrainSettings,
  config: TransformerConfig,
): Promise<TrainingState | undefined> {
  let step: number;
  try {
    step = Number(await readFile(join(settings.workFolder, 'latest'), 'utf8'));
  } catch {
    return undefined; // No checkpoint yet.
  }
  const folder = join(settings.workFolder, `step-${step}`);
  const [parameters, momentum, variance] = await Promise.all(
    VECTORS.map((vector) => loadParameters(config, join(folder, `${vector}.safetensors`))),
  );
  return parameters && momentum && variance ? { parameters, momentum, variance, step } : undefined;
}

const roundToFiveDigits = (value: number): number => Number(value.toPrecision(5));
