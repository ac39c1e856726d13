/** Draws fresh messages at the place of a finding, each continued to the end of its episode. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ProblemTests } from '../../domain/problem.ts';
import { OTHER_MODEL, type NumericEnvironment } from '../../domain/snapshot.ts';
import { PolicyGone } from '../../policy/policy.ts';
import { readRendering } from '../../policy/rendering.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { growEpisodes } from '../../replay/episodes.ts';
import { writeContext, scoreMessage, type TreeSettings } from '../../replay/grow.ts';
import {
  countMessageCalls,
  countCalls,
  findLeaves,
  computeReturn,
  type Branch,
  type TreeEvent,
  type TreeMessage,
} from '../../replay/tree.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import type { Protocol } from '../../team/protocol.ts';
import { getRunSampling } from '../../training/config/config.ts';
import type { LentPolicy, WeightsFinder } from '../models/models.ts';
import { resolveModelFolder } from '../places.ts';
import { computeRecipeScale } from '../recipe/headlines.ts';
import { parseRecipe, parseRecipeProtocol, type Recipe } from '../recipe/recipe.ts';
import { Session, type Engine } from '../session/session.ts';
import type { Draw, FindingFile } from './findingFile.ts';

/** The parts of a finding that drawing it needs, without the results of earlier draws. */
export type Drawable = Omit<FindingFile, 'drawn' | 'expect' | 'title' | 'finding'>;

/** A finding that is ready to be drawn. */
export interface OpenFinding extends AsyncDisposable {
  /** The hash of the weights that draw. */
  readonly weights: string;
  readonly environment: NumericEnvironment;
  /** The context of the message as it is rendered now; it may differ from the text in the finding. */
  readonly context: { readonly text: string; readonly key: string };
  /** Range of a return, and its maximum. */
  readonly span: number;
  readonly most: number;
  /** Draws a number of episodes; a block always has the same draws. */
  readonly draw: (block: number, count: number) => Promise<readonly Draw[]>;
  /** Evaluator calls so far. */
  readonly evaluatorCalls: () => number;
}

/** The weights with this hash, or a model folder instead. */
export type DrawSource = { readonly weights: string } | { readonly model: string };

/**
 * Loads the model that draws a finding.
 * @param folder that its paths are relative to
 * @throws C3Error if the weights or the model are missing, or the finding cannot be scored here;
 *   CancelledError
 */
export async function openFinding(
  engine: Engine,
  finding: Drawable,
  folder: string,
  by: DrawSource,
  signal: AbortSignal,
): Promise<OpenFinding> {
  const recipe = buildFindingRecipe(finding, folder, by);
  const protocol = parseRecipeProtocol(recipe);
  const scale = computeRecipeScale(recipe);
  if (scale === null) {
    throw new C3Error('input', 'Its protocol scores nothing, so there is no return to compare.');
  }
  const { config } = recipe;
  await using holds = new Holds();
  const session = await holds.take(new Session(engine, recipe, signal));
  const { policy, tokenizer } = await session.keep(takeModel(engine, recipe, by, signal));
  const rendering = await readRendering(recipe.modelFolder, tokenizer, config.chat);
  const settings: TreeSettings = {
    protocol,
    policy,
    render: engine.models.texts.renderer(recipe.modelFolder, rendering, signal),
    evaluator: session.evaluator(null),
    budget: new EvaluatorBudget(Infinity),
    sampling: getRunSampling(config),
    seed: config.seed,
    scope: 'finding',
    commonRandomNumbers: false,
  };
  const { branch, position } = buildBranch(finding, protocol);
  let calls = 0;
  // Scores of earlier messages are part of the return.
  for (let { message } = branch; message !== null; message = message.parent) {
    settings.budget.reserve(1);
    await scoreMessage(settings, message, signal);
    calls += countMessageCalls(message);
  }
  const { context: text, key } = await writeContext(settings, branch, position);
  const held = holds.move();
  return {
    weights: policy.snapshot,
    environment: policy.environment,
    context: { text, key },
    span: scale.high - scale.low,
    most: scale.high,
    evaluatorCalls: () => calls,
    draw: async (block, count) => {
      const roots = await growEpisodes({ ...settings, scope: `finding:${block}` }, [branch], [count], { signal });
      calls += roots.reduce((sum, root) => sum + countCalls(root), 0);
      return roots.map((root) => toDraw(root, finding, config.credit.return_clip));
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

function toDraw(root: TreeMessage, { message }: Drawable, bound: number): Draw {
  const [leaf] = findLeaves(root);
  return { return: leaf === undefined ? null : computeReturn(leaf, bound), same: root.answer.text === message.said };
}

function buildFindingRecipe({ config, protocol, model }: Drawable, folder: string, by: DrawSource): Recipe {
  return {
    config,
    folder,
    modelFolder: 'model' in by ? resolve(by.model) : resolveModelFolder(model, config.task.name, folder),
    protocolText: protocol,
    protocolSource: 'the protocol of the finding',
  };
}

/** Loads the weights of the finding, or the model of the folder. */
async function takeModel(engine: Engine, recipe: Recipe, by: DrawSource, signal: AbortSignal): Promise<LentPolicy> {
  const { models } = engine;
  if ('model' in by) {
    return models.takeFolder(recipe, null, { signal });
  }
  const { weights } = by;
  return PolicyGone.inWords(
    models.take(recipe, weights, createWeightsFinder(engine, signal), { signal }),
    (why) =>
      `Its weights, ${weights.slice(0, 12)}, are not here: ${why.replace(/\.$/u, '')}. Give --store with the store of their run, or --model DIR, for example a folder that c3 export --format model wrote.`,
  );
}

/** Finds weights that a run of the store trained, or that are stored beside it. */
const createWeightsFinder =
  ({ work, weights }: Engine, signal: AbortSignal): WeightsFinder =>
  async (snapshot) => {
    const kept = weights.keptFile(snapshot);
    if (kept !== null || !existsSync(work.storePath)) {
      return kept;
    }
    const found = work.reading((store) => store.snapshots(snapshot).find(({ iteration }) => iteration !== OTHER_MODEL));
    return found === undefined
      ? null
      : work.writing('search for the weights of a finding', signal, (store) => {
          const { run } = found;
          return weights.file({ store, run, recipe: parseRecipe(store.runConfig(run), run), snapshot, signal });
        });
  };

/**
 * Returns the place of the message: the entries before it, as messages of a tree, and its position.
 * @throws C3Error('input') if the protocol does not have these turns
 */
export function buildBranch(
  { before, message, problem: written }: Pick<Drawable, 'before' | 'message' | 'problem'>,
  protocol: Protocol,
): { readonly branch: Branch; readonly position: number } {
  const { tests, ...plain } = written;
  const problem: Branch['problem'] = { ...plain, ...(tests !== undefined && { tests: toProblemTests(tests) }) };
  let grown: TreeMessage | null = null;
  let events: TreeEvent[] = [];
  for (const one of before) {
    if ('as' in one) {
      grown = toEarlierMessage({ problem, message: grown, events }, findTurnPosition(protocol, one.as), one.said);
      events = [];
    } else {
      const { answers, ...rest } = one;
      events.push({
        event: { kind: 'environment', ...rest, ...(answers !== undefined && { answers }) },
        stored: undefined,
      });
    }
  }
  return {
    branch: { problem, message: grown, ...(events.length > 0 && { events }) },
    position: findTurnPosition(protocol, message.as),
  };
}

const toProblemTests = ({ reads, ...tests }: NonNullable<Drawable['problem']['tests']>): ProblemTests => ({
  ...tests,
  ...(reads !== undefined && { reads }),
});

function findTurnPosition({ name, occurrences }: Protocol, id: string): number {
  const found = occurrences.find((one) => one.id === id);
  if (found === undefined) {
    throw new C3Error(
      'input',
      `The protocol ${name} of the finding has no turn ${JSON.stringify(id)}; its turns are ${occurrences.map((one) => one.id).join(', ')}.`,
    );
  }
  return found.position;
}

/** Converts an earlier message to a message of a tree. */
const toEarlierMessage = ({ problem, message, events = [] }: Branch, position: number, text: string): TreeMessage => ({
  problem,
  position,
  parent: message,
  sibling: 0,
  alternative: 0,
  replay: null,
  context: '',
  contextKey: '',
  streamKey: '',
  sampling: { temperature: 0, topP: 1, topK: 0, maxNewTokens: 1 },
  answer: {
    text,
    prompt: new Int32Array(),
    tokens: new Int32Array(),
    logprobs: new Float32Array(),
    finish: 'end',
    reusedTokens: 0,
  },
  score: undefined,
  children: [],
  ...(events.length > 0 && { before: events }),
  stored: undefined,
});
