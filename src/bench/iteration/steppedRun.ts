/**
 * Controls a C3 run that makes one iteration on request, so that it can take turns with its peers.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../domain/problem.ts';
import { WORKER_ENTRY } from '../../engine/places.ts';
import { HEADLINE_RULE } from '../../engine/recipe/headlines.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { writeRandomModel } from '../../runtime/model/randomModel.ts';
import { startRuntime } from '../../runtime/remote.ts';
import { combineSignals } from '../../shared/cancellation.ts';
import { openStoreForWriting } from '../../store/write/writer.ts';
import { uidSha } from '../../tasks/uid.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { readConfig } from '../../training/config/readConfig.ts';
import type { RunControl, RunDependencies } from '../../training/runContext.ts';
import { runTraining } from '../../training/startRun.ts';
import type { IterationTask } from './steppedPeer.ts';

/** A protocol with one role, whose messages are scored. */
const PROTOCOL = parseProtocol(
  JSON.stringify({ name: 'single', roles: [{ role: 'writer', prompt: '{question}', with_answer: true }] }),
  'single.json',
);
/** More steps than are ever reached: the caller ends the run. */
const STEPS = 1_000_000;
/** The code point of token 0. Each token is one character. */
const FIRST_CHARACTER = 0x4e00;

const idsToText = (ids: Iterable<number>): string =>
  String.fromCodePoint(...Array.from(ids, (id) => FIRST_CHARACTER + id));
const textToIds = (text: string): Int32Array =>
  Int32Array.from(text, (character) => (character.codePointAt(0) ?? FIRST_CHARACTER) - FIRST_CHARACTER);

/** Returns a tokenizer in which every token is one character and no token ends a message. */
const makeCharacterTokenizer = (vocabularySize: number): Tokenizer => ({
  endToken: -1,
  otherEndTokens: [],
  controls: [],
  vocabularySize,
  encode: textToIds,
  encodeWhole: textToIds,
  decode: idsToText,
  decodeWhole: idsToText,
  pieces: (ids) => Array.from(ids, (id) => idsToText([id])),
  spans: (ids) => ({ spans: Array.from(ids, (id) => ({ ids: [id], text: idsToText([id]) })), exact: true }),
});

/** Scores the share of even tokens, as the peers do. */
const evenTokens: Evaluator = {
  name: 'even tokens',
  evaluate: (_, text) => {
    const ids = textToIds(text);
    return Promise.resolve({ score: ids.filter((id) => id % 2 === 0).length / ids.length, rule: 'even tokens' });
  },
};

export class SteppedRun {
  private readonly home: string;
  private readonly finish: AbortController;
  private readonly going: Promise<unknown>;
  private turn = Promise.withResolvers<undefined>();
  private made = Promise.withResolvers<undefined>();

  private constructor(home: string, finish: AbortController, go: (run: SteppedRun) => Promise<unknown>) {
    this.home = home;
    this.finish = finish;
    this.going = go(this);
    this.going.catch(() => undefined);
  }

  /**
   * Starts a run with MAGRPO's credit on a random model. Like a run of a user, it computes in a
   * worker thread and stores its rows, snapshots and checkpoints, here in a temporary folder. It
   * waits before each iteration. The caller must end it.
   * @throws C3Error; CancelledError
   */
  static async begin(task: IterationTask, signal: AbortSignal): Promise<SteppedRun> {
    const home = createTemporaryFolder('bench-iteration');
    const model = join(home, 'model');
    await writeRandomModel(model, task.shape, { seed: 0 });
    const runtime = await startRuntime(WORKER_ENTRY, { threads: task.threads });
    const store = openStoreForWriting(join(home, 'c3.sqlite'), { headlines: HEADLINE_RULE });
    const finish = new AbortController();
    const work = async (run: SteppedRun): Promise<unknown> => {
      try {
        const { snapshot, config } = await runtime.load(model);
        return await runTraining(
          'iterations',
          readConfig(writeIterationConfig(task), 'iterations.c3.yaml'),
          {
            store,
            runtime,
            base: snapshot,
            tokenizer: makeCharacterTokenizer(task.shape.vocabularySize),
            protocol: PROTOCOL,
            render: ({ system }) => run.turn.promise.then(() => system),
            maxPositions: config.maxPositions,
            evaluator: evenTokens,
            train: makePromptProblems(task),
            evaluation: [],
            recipe: '{}',
            modelFolder: model,
            snapshotFolder: home,
            clock: () => performance.now() / 1000,
            expected: { episode: 1, step: 1, known: false },
            now: () => new Date().toISOString(),
          } satisfies RunDependencies,
          {
            signal: combineSignals(signal, finish.signal),
            onProgress: ({ metrics }) => {
              if (metrics !== null) {
                run.iterationMade();
              }
            },
          } satisfies RunControl,
        );
      } finally {
        store.close();
        await runtime.close();
      }
    };
    return new SteppedRun(home, finish, work);
  }

  /**
   * Runs and stores one iteration: rollout, evaluation, credit, reference and update.
   * @throws the error that ended the run
   */
  async step(): Promise<void> {
    this.made = Promise.withResolvers();
    this.turn.resolve(undefined);
    await Promise.race([this.made.promise, this.going]);
  }

  /** Ends the run and removes its folder. */
  async end(): Promise<void> {
    this.finish.abort();
    this.turn.resolve(undefined);
    await this.going.catch(() => undefined);
    await rm(this.home, { recursive: true, force: true });
  }

  /** Reports the iteration as made and makes the next one wait. */
  private iterationMade(): void {
    this.turn = Promise.withResolvers();
    this.made.resolve(undefined);
  }
}

function writeIterationConfig({
  prompts,
  group,
  new: newTokens,
  threads,
  learningRate,
  klCoefficient,
}: IterationTask): string {
  return JSON.stringify({
    title: 'Iterations',
    method: 'magrpo',
    steps: STEPS,
    instances_per_step: prompts.length,
    fanout: [group],
    evaluator_budget: group,
    sampling: { max_new_tokens: newTokens },
    ppo: { learning_rate: learningRate, warmup_fraction: 0, final_fraction: 1, kl_coefficient: klCoefficient },
    evaluation: { instances: 0, before: false },
    device: { threads },
  });
}

const makePromptProblems = ({ prompts }: IterationTask): Problem[] =>
  prompts.map((prompt, index) => {
    const question = idsToText(prompt);
    return { uid: `prompt-${index}`, uidSha: uidSha(question), question, answer: 'even', source: 'bench', level: null };
  });
