/** The keys of `task`: the team's questions. */

import { z } from 'zod';
import { SHOWN_TESTS, TASK_FORMATS, TASK_NAMES } from '../../shared/runNames.ts';
import { enumKey, pathKey, positive, rowSlice } from './keyKinds.ts';

export const taskSchema = z
  .strictObject({
    name: enumKey(TASK_NAMES, {
      arithmetic: 'Expressions of one to four steps, answered with a number.',
      python: 'Small functions, scored by unit tests that run in the sandbox.',
      dealer: 'Hands of a card game, in which the first message decides as much of the score as the level says.',
      functions: 'Functions in two parts, a helper and the function that calls it, which do not see each other.',
      logic: 'Logic questions with four options, about orders and implications. Needs `roles: 3` (voters) or 1.',
      chain: 'Chains of letters, in which each of 2 to 8 roles adds one and the last has to be the goal.',
      hints: 'Expressions of two steps for a thinker and a solver, with hints that help, are redundant or mislead.',
      zebra: 'Logic grids of 2 and 3 houses in the form of ZebraLogic, answered in JSON. Needs a `model`.',
      numbers: 'A secret number, guessed in turns with the feedback of an exact referee. Needs a `model`.',
      blocksworld: 'Plans for 3 or 4 blocks, executed exactly. Needs a `model`.',
    })
      .default('arithmetic')
      .describe(
        'The team works on this bundled task. Its questions are generated unless files are given; its team and ' +
          'protocol are called `bundled` (zebra, numbers and blocksworld have no team). ' +
          'For your own questions omit it and write `train_file`, with `evaluation_file` or `split`, and `format` if need be.',
      ),
    train_file: pathKey('rows')
      .nullable()
      .default(null)
      .describe(
        'The team is trained on the questions of this file: JSON Lines or CSV, relative to the configuration. ' +
          'null generates those of the bundled task.',
      ),
    evaluation_file: pathKey('rows')
      .nullable()
      .default(null)
      .describe(
        'The team is evaluated on the questions of this file, in the same forms. Needs `train_file`. null ' +
          'holds some of its questions out.',
      ),
    split: z
      .strictObject({
        evaluation: z
          .number()
          .gt(0)
          .lt(1)
          .default(0.2)
          .describe('This share of the questions of `train_file` is evaluated and never trained on.'),
        seed: z
          .int()
          .min(0)
          .default(0)
          .describe(
            'The questions that are held out are drawn from this seed. It is separate from the seed of the ' +
              'run, so that runs can be compared.',
          ),
      })
      .nullable()
      .default(null)
      .describe(
        'The hash of each question splits `train_file`, whatever the order of the file: equal questions ' +
          'are on one side. ' +
          'null holds out its first questions, at most `evaluation.instances` and a quarter.',
      )
      .meta({ since: '0.2.0' }),
    train_split: rowSlice
      .nullable()
      .default(null)
      .describe(
        'The team is trained on these questions of `train_file`, by their places in it, such as `train[16:]`. ' +
          'The name before the brackets has no meaning. null takes all that are not evaluated.',
      )
      .meta({ since: '0.2.0', earlier: null }),
    evaluation_split: rowSlice
      .nullable()
      .default(null)
      .describe(
        'The team is evaluated on these questions of `evaluation_file`, or else of `train_file`, such as ' +
          '`test[:16]`. At most `evaluation.instances` are.',
      )
      .meta({ since: '0.2.0', earlier: null }),
    format: enumKey(TASK_FORMATS, {
      auto: 'Recognized row by row.',
      gsm8k: 'GSM8K: the answer comes after ####.',
      math: 'MATH: the answer is in \\boxed{} of the solution.',
      math500: 'MATH-500: a separate column for the answer.',
      cmath: 'CMATH: the answer is the column golden.',
      mbpp: 'MBPP: code with a list of tests.',
      mbppplus: 'MBPP+: code with a test program.',
      humaneval: 'HumanEval: a prompt with its entry point and test.',
      logiqa:
        'LogiQA: plain text, eight lines a question: blank, letter, context, question, four options. Never recognized by itself.',
      aime: 'AIME: the answer is a whole number from 0 to 999.',
      zebralogic: 'ZebraLogic, grid mode: a puzzle, and its solution as header and rows.',
      autologi: 'AutoLogi: a prompt with Python that checks the answer, in the sandbox.',
      arbench: 'AR-Bench, guessing numbers: a JSON list of secrets. Never recognized by itself.',
      planbench: 'PlanBench, Blocksworld: prompts whose last statement is the problem, as rows or as one document.',
      pddl: 'Problems of Blocksworld in PDDL, one after another in a file. Never recognized by itself.',
      jsonl: 'Columns such as question and answer, as JSON Lines.',
      csv: 'Columns such as question and answer, as CSV.',
    })
      .default('auto')
      .describe('The rows of the files have this form.'),
    show_tests: enumKey(SHOWN_TESTS, {
      none: 'None: the text alone asks.',
      first: 'The first one.',
      all: 'All of them.',
    })
      .default('first')
      .describe('An MBPP question shows these of its tests, which alone name the function.'),
    levels: z
      .array(z.number().min(0))
      .min(1)
      .max(8)
      .default([1, 1, 1, 1])
      .describe(
        'The levels of the bundled task are mixed by these weights, the easiest first: arithmetic has 8, ' +
          'python and logic 6, hints 3 (help, redundant, mislead), others 4. Those of dealer weigh the first ' +
          'message 0.2, 1, 3 and 8 times the rest, by luck (1 to 4) or by what the dealer can learn (5 to 8).',
      ),
    roles: positive
      .default(2)
      .describe(
        'The bundled team has this many roles: 2, 3, 4 or 6 for task dealer, 2 to 8 for chain, 2 or 1 for ' +
          'functions, 3 or 1 for logic, 2 or 3 for zebra, numbers and blocksworld, 2 for the others. `fanout` ' +
          'has a number for each.',
      )
      .meta({ since: '0.2.0', earlier: 2 }),
    refuse_overlap: z
      .boolean()
      .default(true)
      .describe(
        'true stops the run if a training question is also evaluated, even with different case or whitespace. ' +
          'false warns.',
      ),
  })
  .prefault({})
  .describe('The team works on the questions that these keys name.');
