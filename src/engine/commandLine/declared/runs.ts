/** Declarations of the commands that train and evaluate teams, and follow runs. */

import type { Declaration } from './declaration.ts';
import { DETACH, JSON_FLAG, OVERRIDE, STORE_AND_JSON } from './options.ts';

const CONFIG = {
  config: {
    kind: 'file',
    value: 'CONFIG',
    optional: true,
    help: 'A configuration (*.c3.yaml). Without one, the bundled team runs on the bundled task.',
  },
} as const;

export const RUN = {
  name: 'run',
  summary: 'Trains or evaluates a team, or resumes an interrupted run.',
  arguments: { ...CONFIG },
  options: {
    ...OVERRIDE,
    resume: {
      kind: 'text',
      value: 'RUN',
      help: 'Continues an interrupted run with the configuration that it began with.',
    },
    again: { kind: 'text', value: 'JOB', help: 'Starts a job that never began, as it was requested.' },
    ...DETACH,
    show: { kind: 'flag', help: 'At the end, replays one message and prints what loses the episodes of the run.' },
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 run --show', 'Trains the bundled team, and shows a first finding.'],
    ['c3 run my.c3.yaml --override steps=4 seed=2', 'Runs a configuration with four steps and another seed.'],
    ['c3 run --resume c3-0-1a2b3c4d', 'Continues a run that was interrupted.'],
  ],
} as const satisfies Declaration;

export const REPLACE = {
  name: 'replace',
  summary: "Continues a run's team with another policy for one role.",
  details: 'At the end it prints the cost of the swap.',
  arguments: {
    run: { kind: 'text', value: 'RUN', help: 'The run whose team continues.' },
    swap: {
      kind: 'text',
      value: 'ROLE=SOURCE',
      help:
        'A role and its new policy: base, bundled-small, the folder of an adapter or of a model, or ' +
        'RUN:STEP:ROLE.',
    },
  },
  options: {
    strategy: {
      kind: 'choice',
      choices: ['align', 'direct', 'retrain'],
      fallback: 'align',
      help:
        'align first teaches the new policy to say what the old one said, direct swaps at once, and retrain trains ' +
        'the team anew.',
    },
    ...OVERRIDE,
    ...DETACH,
    ...STORE_AND_JSON,
  },
  examples: [
    [
      'c3 replace c3-0-1a2b3c4d reasoner=base --override steps=0',
      'Shows the team without the training of the reasoner.',
    ],
  ],
} as const satisfies Declaration;

export const PLAN = {
  name: 'plan',
  summary: 'Estimates the memory, cost and time of a run before it starts.',
  arguments: { ...CONFIG },
  options: {
    ...OVERRIDE,
    rho: {
      kind: 'flag',
      help:
        'Also measures how much each message of the untrained team decides (rho), predicts the variance of C3 ' +
        'against that of MAGRPO, and names the tree that `shape: auto` would sample.',
    },
    questions: { kind: 'whole', value: 'N', least: 2, fallback: 64, help: 'With --rho: asks N questions.' },
    alternatives: {
      kind: 'whole',
      value: 'N',
      least: 2,
      fallback: 6,
      help: 'With --rho: samples N messages in each context.',
    },
    replays: { kind: 'whole', value: 'N', least: 2, fallback: 4, help: 'With --rho: replays each message N times.' },
    ...STORE_AND_JSON,
  },
  examples: [['c3 plan my.c3.yaml --rho', 'Plans a run, and measures how much its messages decide.']],
} as const satisfies Declaration;

export const CONVERT = {
  name: 'convert',
  summary: 'Prints a file of the published MAGRPO scripts as a configuration.',
  details: 'Remarks before it list the differences. c3 run FILE also reads such a file directly.',
  arguments: { file: { kind: 'file', value: 'FILE', help: 'A file, for example magrpo_he_config.yaml.' } },
  options: { ...OVERRIDE, ...JSON_FLAG },
  examples: [['c3 convert magrpo_he_config.yaml', 'Prints the configuration that c3 run would run.']],
  onlyReads: () => true,
} as const satisfies Declaration;

export const STATUS = {
  name: 'status',
  summary: 'Lists the runs that are in progress, queued or interrupted.',
  arguments: {},
  options: { ...STORE_AND_JSON },
  examples: [['c3 status', 'Lists the runs of the store in this folder.']],
  onlyReads: () => true,
} as const satisfies Declaration;

export const CANCEL = {
  name: 'cancel',
  summary: 'Stops a run, wherever it was started, or removes a queued one.',
  arguments: { job: { kind: 'text', value: 'RUN|JOB', help: 'The id of a run or of a job: see c3 status.' } },
  options: { ...STORE_AND_JSON },
  examples: [['c3 cancel c3-0-1a2b3c4d', 'Stops a run; what is stored stays.']],
} as const satisfies Declaration;
