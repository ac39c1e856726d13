/**
 * The evaluators of an engine. Sandboxes start when they are needed, and end after some idle time;
 * their verdicts are kept.
 */

import { makeCommandEvaluator } from '../../evaluate/command.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { EvaluatorLost } from '../../evaluate/lost.ts';
import { makeJudgeEvaluator, type AskJudge } from '../../evaluate/modelJudge.ts';
import { getAnswerForm, makeEvaluator } from '../../evaluate/named.ts';
import { PythonGrader, type VerdictCache } from '../../evaluate/python/grader.ts';
import type { PassRule, PythonVerdict } from '../../evaluate/python/rules.ts';
import { C3Error } from '../../shared/errors.ts';
import { ALLOW_COMMANDS } from '../../shared/runNames.ts';
import type { RunConfig } from '../../training/config/config.ts';
import { SANDBOX_PLACES } from '../places.ts';

/** Milliseconds that idle sandboxes keep running: repeated replays wait for the start only once. */
const IDLE_MILLISECONDS = 60_000;
const MAX_VERDICTS = 100_000;

export class Evaluators {
  private readonly verdicts: Readonly<Record<PassRule, VerdictCache>> = {
    strict: new Verdicts(),
    fraction: new Verdicts(),
  };
  private graders = new Map<PassRule, PythonGrader>();
  private users = 0;
  private timer: NodeJS.Timeout | undefined;

  /**
   * Returns the evaluator that a configuration names, until it is disposed.
   * @param ask the model judge; without it, messages that a judge scored cannot be scored again
   * @throws C3Error('input') if the evaluator is a command and commands are not allowed
   */
  take(recipe: ScoredRecipe, ask: AskJudge | null = null): Disposable & { readonly evaluator: Evaluator } {
    const { evaluator, task, code_blocks: blocks } = recipe.config;
    const taken = makeEvaluator(
      evaluator,
      getAnswerForm(task.train_file === null ? task.name : null),
      (rule) => this.grader(rule),
      createJudge(recipe, ask) ?? createCommandScorer(recipe),
      blocks,
    );
    this.users++;
    clearTimeout(this.timer);
    return {
      evaluator: taken,
      [Symbol.dispose]: () => {
        this.users--;
        if (this.users === 0) {
          this.timer = setTimeout(() => this.close(), IDLE_MILLISECONDS).unref();
        }
      },
    };
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Ends all sandboxes; they start again when needed. */
  close(): void {
    clearTimeout(this.timer);
    for (const grader of this.graders.values()) {
      grader.close();
    }
    this.graders = new Map();
  }

  private grader(passRule: PassRule): PythonGrader {
    const kept = this.graders.get(passRule);
    const known =
      kept?.lost === false
        ? kept
        : new PythonGrader({ places: SANDBOX_PLACES, passRule, cache: this.verdicts[passRule] });
    this.graders.set(passRule, known);
    return known;
  }
}

/** The parts of a recipe that define its scoring. */
export interface ScoredRecipe {
  readonly config: Pick<RunConfig, 'evaluator' | 'scorer'> &
    Partial<Pick<RunConfig, 'code_blocks'>> & { readonly task: Pick<RunConfig['task'], 'name' | 'train_file'> };
  readonly folder: string;
}

/** Returns the evaluator of a model judge. Without `ask`, stored scores stay as they are. */
function createJudge({ config: { evaluator, scorer } }: ScoredRecipe, ask: AskJudge | null): Evaluator | undefined {
  if (evaluator !== 'judge') {
    return undefined;
  }
  return ask === null
    ? {
        name: 'judge',
        evaluate: () =>
          Promise.reject(
            new EvaluatorLost('A model judge scored it, which need not say the same again', 'the judge can be asked'),
          ),
      }
    : makeJudgeEvaluator({ rubric: scorer?.rubric ?? '', ask });
}

/**
 * Returns the evaluator of a command. The command comes from a configuration or a store, which may
 * have another author. It runs only if a window of a trusted workspace started the engine, or the
 * command line allows it.
 */
function createCommandScorer({ config: { evaluator, scorer }, folder }: ScoredRecipe): Evaluator | undefined {
  if (evaluator !== 'command' || scorer?.command === undefined) {
    return undefined;
  }
  if (process.env[ALLOW_COMMANDS] !== '1') {
    throw new C3Error(
      'input',
      `Messages are scored by the command ${JSON.stringify(scorer.command.join(' ').slice(0, 200))}, which would run with your rights: if you trust it, set ${ALLOW_COMMANDS}=1.`,
    );
  }
  return makeCommandEvaluator({ command: scorer.command, folder, timeLimit: 1000 * scorer.time_limit });
}

/** Keeps the newest verdicts. */
class Verdicts implements VerdictCache {
  private readonly known = new Map<string, PythonVerdict>();

  get(key: string): PythonVerdict | undefined {
    return this.known.get(key);
  }

  set(key: string, verdict: PythonVerdict): void {
    const oldest = this.known.size < MAX_VERDICTS ? undefined : this.known.keys().next().value;
    if (oldest !== undefined) {
      this.known.delete(oldest);
    }
    this.known.set(key, verdict);
  }
}
