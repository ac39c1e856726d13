/** Declarations of the commands on single messages: replays, searches, trials and findings. */

import { BLAME_BUDGET, EXPECTATIONS, FINDING_DRAWS, LOSS_DIVISIONS, RUN_BLAME_BUDGET } from '../../../domain/answer.ts';
import { TRIAL_BUDGET } from '../../../domain/trial.ts';
import type { Declaration } from './declaration.ts';
import { MESSAGE, ONLY, RUN_OR_NEWEST, SPENDING, STORE_AND_JSON, TEAM } from './options.ts';

/** Default folder of findings. */
export const FINDINGS_FOLDER = 'findings';

export const REPLAY = {
  name: 'replay',
  summary: 'Compares a message with others in its context, by replays.',
  details:
    'It samples other messages in the same context and continues each to the end of the episode. It ' +
    'prints the returns, and the credit of the message.',
  arguments: { ...MESSAGE },
  options: {
    alternatives: {
      kind: 'whole',
      value: 'N',
      least: 0,
      fallback: 4,
      help: 'Samples N other messages in the same context.',
    },
    replays: {
      kind: 'whole',
      value: 'N',
      least: 1,
      fallback: 4,
      help: 'Continues each message N times to the end of the episode.',
    },
    text: { kind: 'text', value: 'TEXT', help: 'Also continues TEXT in the place of the message.' },
    result: { kind: 'text', value: 'TEXT', help: 'Tries another result of the tool that a recorded message called.' },
    independent: { kind: 'flag', help: 'Uses different random numbers for each message instead of common ones.' },
    settle: {
      kind: 'flag',
      help: 'Replays another message and this one in pairs, until the credit of this one is decided.',
    },
    atMost: {
      kind: 'whole',
      value: 'N',
      least: 1,
      help: 'With --settle: stops after N replays. Default: the number that the credit is estimated to need.',
    },
    snapshot: {
      kind: 'text',
      value: 'ID|STEP',
      help: 'Continues with the weights of another snapshot or step of the run.',
    },
    model: { kind: 'folder', value: 'DIR', help: 'Continues with the model of this folder.' },
    temperature: { kind: 'amount', value: 'T', help: 'Continues at the temperature T.' },
    ...TEAM,
    ...SPENDING,
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 replay 1234 --alternatives 8', 'Compares message 1234 with eight others in its context.'],
    ['c3 replay 1234 --settle --at-most 200', 'Replays until the credit is decided, at most 200 times.'],
  ],
} as const satisfies Declaration;

export const BLAME = {
  name: 'blame',
  summary: 'Finds what lost an episode, or what loses the episodes of a run.',
  details:
    'For an episode, it prints the chance of success after each message. For a run, it prints the share of the ' +
    'losses within reach that each role caused.',
  arguments: {
    episode: {
      kind: 'row',
      value: 'EPISODE',
      optional: true,
      help: 'The number of a message of the episode. Without one, the episodes of a run are searched.',
    },
  },
  options: {
    budget: {
      kind: 'whole',
      value: 'N',
      least: BLAME_BUDGET.least,
      help:
        `Spends at most N continuations. Default: ${BLAME_BUDGET.usual} for an episode, ` +
        `${RUN_BLAME_BUDGET.usual} for a run.`,
    },
    ...RUN_OR_NEWEST,
    ...ONLY,
    by: { kind: 'choice', choices: LOSS_DIVISIONS, help: 'Also divides the losses of a run by this property.' },
    ...TEAM,
    ...SPENDING,
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 blame 1234', 'Finds the message that lost the episode of message 1234.'],
    ['c3 blame --only level=3 --by class', 'Finds what loses the episodes of level 3 in the newest run.'],
  ],
} as const satisfies Declaration;

export const TRY = {
  name: 'try',
  summary: 'Measures whether a change of the team helps.',
  details:
    'It plays held-out problems of a run in pairs, with and without the change, on the same random ' + 'numbers.',
  arguments: {
    message: {
      kind: 'row',
      value: 'MESSAGE',
      optional: true,
      help:
        'The number of a message in whose context each episode begins. Without one, episodes begin at the ' +
        'question.',
    },
  },
  options: {
    change: {
      kind: 'texts',
      value: 'KEY=VALUE',
      help:
        'Changes one thing: ROLE.prompt=FILE, temperature=T, top_p=P, top_k=K, max_new_tokens=N, snapshot=ID|STEP, ' +
        'model=DIR, adapter=DIR or endpoint=MODEL@ADDRESS of a server for all roles, or ROLE.snapshot=ID|STEP, ' +
        'ROLE.model=DIR, ROLE.adapter=DIR or ROLE.endpoint=MODEL@ADDRESS for one. team=FILE tries another program.',
    },
    eachRole: { kind: 'flag', help: 'Tries the policy of --with for one role after another.' },
    with: {
      kind: 'text',
      value: 'POLICY',
      help:
        'The other policy: a snapshot, a step, the folder of a model or of an adapter, or MODEL@ADDRESS of ' +
        'a server.',
    },
    prices: {
      kind: 'text',
      value: 'INPUT,OUTPUT',
      help:
        'A million tokens of prompts and of answers cost this much at the servers that are tried, such as 2,8. ' +
        'Default: the prices of the same server in the configuration of the run.',
    },
    ...RUN_OR_NEWEST,
    ...TEAM,
    ...ONLY,
    lost: { kind: 'flag', help: 'Tries the change on the lost problems alone.' },
    budget: {
      kind: 'whole',
      value: 'N',
      least: TRIAL_BUDGET.least,
      fallback: TRIAL_BUDGET.usual,
      help: 'Asks the evaluator at most N times.',
    },
    ...SPENDING,
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 try --change reasoner.prompt=better.txt', 'Measures another prompt for the reasoner.'],
    ['c3 try --each-role --with 0', 'Measures which role the weights of step 0 help most.'],
    ['c3 try --team team.yaml --change team=new.yaml', 'Measures another version of a recorded program.'],
  ],
} as const satisfies Declaration;

export const VERIFY = {
  name: 'verify',
  summary: 'Executes stored replays again, and compares their tokens.',
  details: 'The exit code is 1 if one differs.',
  arguments: {
    message: {
      kind: 'row',
      value: 'MESSAGE',
      optional: true,
      help: 'The number of a message whose replays are verified. Without one, those of a run are.',
    },
  },
  options: {
    ...RUN_OR_NEWEST,
    sample: {
      kind: 'whole',
      value: 'N',
      least: 1,
      help: 'Verifies N replays, spread evenly over the run. Default: all of them.',
    },
    ...STORE_AND_JSON,
  },
  examples: [['c3 verify --sample 100', 'Verifies 100 replays of the newest run.']],
} as const satisfies Declaration;

export const KEEP = {
  name: 'keep',
  summary: 'Keeps a message as a test in a small file.',
  details: 'The file holds the context, the message, and the returns of fresh messages in its place.',
  arguments: { ...MESSAGE },
  options: {
    out: {
      kind: 'file',
      value: 'FILE|FOLDER',
      fallback: FINDINGS_FOLDER,
      help: 'The file (*.finding.yaml), or the folder for one that is named after the role and the message.',
    },
    draws: {
      kind: 'whole',
      value: 'N',
      least: FINDING_DRAWS.least,
      fallback: FINDING_DRAWS.usual,
      help: 'Draws N messages in its place.',
    },
    expect: {
      kind: 'choice',
      choices: EXPECTATIONS,
      fallback: 'held',
      help: 'The expected result of c3 check: held while the fault is known, fixed once a change has helped.',
    },
    ...STORE_AND_JSON,
  },
  examples: [['c3 keep 1234', 'Writes findings/ROLE-1234.finding.yaml.']],
} as const satisfies Declaration;

export const CHECK = {
  name: 'check',
  summary: 'Checks whether kept messages still hold.',
  details:
    'It samples each message again and reports whether it held, is fixed, is worse, or is undecided. The exit ' +
    'code is 1 if one is worse than expected, or could not be checked.',
  arguments: {
    folder: {
      kind: 'folder',
      value: 'FOLDER',
      optional: true,
      fallback: FINDINGS_FOLDER,
      help: 'The folder of the findings, or one of them.',
    },
  },
  options: {
    model: { kind: 'folder', value: 'DIR', help: 'Samples with another model instead of the weights of the finding.' },
    junit: { kind: 'file', value: 'FILE', help: 'Also writes the results as JUnit XML, for continuous integration.' },
    ...STORE_AND_JSON,
  },
  examples: [['c3 check findings --model new-model', 'Checks a folder of findings with another model.']],
} as const satisfies Declaration;
