/**
 * Definitions of the small teams that tests read: the files of a folder, and the `c3` commands that
 * make its store. `recordedStores.ts` makes each recording once and copies it.
 */

import { readFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Access to the folder of a recording for further commands. */
export interface Recorder {
  readonly folder: string;
  /**
   * Runs `c3` in the folder to its end.
   * @returns the printed JSON document
   * @throws Error with the output if the command failed
   */
  readonly c3: (...args: readonly string[]) => Promise<Readonly<Record<string, unknown>>>;
}

export interface Recording {
  /** Contents of files by their paths in the folder. They are written first. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * Files and folders of the repository that the recording reads. It is made again if one changes.
   */
  readonly reads: readonly string[];
  /** Adds further files to the folder. */
  readonly prepare?: (folder: string) => Promise<void>;
  /** Commands of `c3`, in order. */
  readonly commands: readonly (readonly string[])[];
  /** True if only the long tests read the recording. */
  readonly long?: boolean;
  /** Runs commands that depend on the results of the earlier ones. */
  readonly further?: (recorder: Recorder) => Promise<void>;
}

const ROOT = join(import.meta.dirname, '..', '..');
const TINY_FILE = 'tiny.c3.yaml';

/** The usual run of the tests in a real VS Code: the bundled team, for a few seconds. */
export const TINY = `title: Tiny
steps: 2
instances_per_step: 2
fanout: [2, 2]
evaluator_budget: 4
evaluation: { instances: 8 }
`;

/**
 * A team of two roles, each with its own adapter, that are updated in turn within a trust region.
 */
const CHAIN = `title: Chain of two
method: teamtr
task: {name: chain, roles: 2, levels: [1]}
adapter: {per: role, rank: 2}
teamtr: {diagnostics: true, rank_shifts: true, delta: 0.02}
steps: 4
instances_per_step: 6
evaluator_budget: 8
evaluation: {instances: 12, before: false}
ppo: {learning_rate: 0.003}
device: {threads: 1}
`;
const REMOVAL = `method: ccpo
steps: 3
instances_per_step: 4
evaluator_budget: 8
evaluation: {instances: 2}
device: {threads: 1}
`;
/** A thinker and a solver with credit by removal. */
export const THINKER = `title: Thinker and solver\ntask: {name: hints}\nccpo: {min_samples: 4}\n${REMOVAL}`;
/** Three voters with credit by removal, one with a smaller model. */
const THREE_VOTERS = `title: Three voters
task: {name: logic, roles: 3}
policies: {voter3: {model: bundled-small}}
${REMOVAL}`;

const example = (file: string): string => readFileSync(join(ROOT, 'media', 'examples', file), 'utf8');
const examples = (...files: readonly string[]): Record<string, string> =>
  Object.fromEntries(files.map((file) => [file, example(file)]));
const overrides = (...keys: readonly string[]): string[] => keys.flatMap((key) => ['--override', key]);

/** One run of the bundled team for arithmetic, from `tiny.c3.yaml`. */
const arithmetic = (config: string): Recording => ({
  files: { [TINY_FILE]: config },
  reads: ['media/team'],
  commands: [['run', TINY_FILE]],
});

/** Overrides for one step with a minimal evaluation. */
const SHORT = overrides('steps=1', 'evaluation.instances=2');

/** The usual run in up to three rounds, with an event after each. */
const FEEDBACK = `${TINY.replace('evaluator_budget: 4', 'evaluator_budget: 12')}protocol: feedback.json\n`;
/**
 * A helper and a main function that revise after test feedback. With this seed, alternatives differ
 * in return.
 */
const TURNS = `title: Functions in turns
method: magrpo
seed: 5
task: {name: functions}
evaluator: ladder
external: {mode: level_feedback}
magrpo: {num_turns: 2, num_generations: 2}
evaluator_budget: 6
steps: 1
instances_per_step: 1
evaluation: {instances: 1}
`;
/** Another model for a role, with its own tokenizer and chat template. */
const OTHER_MODEL = join('test', 'fixtures', 'golden', 'qwen2');

/** A run of the workspace of the engine's tests: a pair of roles whose model has a few kilobytes. */
const pair = (...keys: readonly string[]): Recording => ({
  files: {},
  reads: ['test/unit/training/tinyTeam.ts', 'test/unit/engine/workspace.ts'],
  prepare: async (folder) => {
    const { makeWorkspace } = await import('../unit/engine/workspace.ts');
    const workspace = await makeWorkspace();
    await cp(workspace, folder, { recursive: true });
    await rm(workspace, { recursive: true });
  },
  commands: [['run', TINY_FILE, ...overrides(...keys)]],
});

export const RECORDINGS = {
  arithmetic: arithmetic(TINY),
  /** The usual run without merged contexts. */
  arithmeticApart: { ...arithmetic(`${TINY}credit: { merge_contexts: false }\n`), long: true },
  /** The same, with the same random numbers for all alternatives. */
  arithmeticPaired: {
    ...arithmetic(`${TINY}credit: { common_random_numbers: true, merge_contexts: false }\n`),
    long: true,
  },
  /** Evaluated before, after each of four steps, and at the end. */
  everyStep: arithmetic(
    TINY.replace('title: Tiny', 'title: Every step')
      .replace('steps: 2', 'steps: 4')
      .replace('instances: 8', 'instances: 8, every: 1'),
  ),
  /** Credit by removal: a thinker with a solver, then a team that votes. */
  removal: {
    files: { 'pair.c3.yaml': THINKER, 'voters.c3.yaml': THREE_VOTERS },
    reads: ['media/team-hints', 'media/team-logic', 'media/team-logic-small'],
    commands: [
      ['run', 'pair.c3.yaml'],
      ['run', 'voters.c3.yaml'],
    ],
    long: true,
  },
  chain: {
    files: { 'chain.c3.yaml': CHAIN },
    reads: ['media/team-chain'],
    commands: [['run', 'chain.c3.yaml']],
    long: true,
  },
  /** Short runs of teams in rounds, with a vote, in turns, with tools, and with another model, in one store. */
  teams: {
    files: {
      [TINY_FILE]: FEEDBACK,
      'turns.c3.yaml': TURNS,
      'policy.c3.yaml': `${TINY.replace('title: Tiny', 'title: Another model')}policies:\n  reasoner: {model: ${JSON.stringify(join(ROOT, OTHER_MODEL))}}\n`,
      ...examples('feedback.json', 'calculator.json', 'calculator.c3.yaml', 'voters.json', 'voters.c3.yaml'),
    },
    reads: ['media/team', 'media/team-functions-turns', OTHER_MODEL],
    commands: [
      ['run', TINY_FILE, ...SHORT],
      ['run', 'turns.c3.yaml'],
      ['run', 'calculator.c3.yaml', ...SHORT],
      ['run', 'voters.c3.yaml', ...SHORT],
      ['run', 'policy.c3.yaml', ...SHORT],
    ],
    long: true,
  },
  pair: pair(),
} as const satisfies Readonly<Record<string, Recording>>;

export type RecordingName = keyof typeof RECORDINGS;
