/** The keys of `task`: what the team works on. */
import { z } from 'zod';
import { SHOWN_TESTS, TASK_FORMATS, TASK_NAMES } from '../../shared/runNames.ts';
import { oneOf, pathTo, positive, rowSlice } from './keyKinds.ts';

export const taskSchema = z
  .strictObject({
    name: oneOf(TASK_NAMES, {
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
        'A bundled task: its questions are generated unless files are given, and its team and protocol are what `bundled` means; zebra, numbers and blocksworld have a protocol and no team. ' +
          'For your own questions omit it and write `train_file`, with `evaluation_file` or `split`, and `format` if need be.',
      ),
    train_file: pathTo('rows')
      .nullable()
      .default(null)
      .describe(
        'Questions to train on: JSON Lines or CSV, relative to this file. null generates those of the bundled task.',
      ),
    evaluation_file: pathTo('rows')
      .nullable()
      .default(null)
      .describe('Questions to evaluate on, in the same forms; needs `train_file`. null holds some of those out.'),
    split: z
      .strictObject({
        evaluation: z
          .number()
          .gt(0)
          .lt(1)
          .default(0.2)
          .describe('The share of the questions of `train_file` that are evaluated and never trained on.'),
        seed: z
          .int()
          .min(0)
          .default(0)
          .describe(
            'Another seed holds out other questions. It is separate from the seed of the run, so that runs can be compared.',
          ),
      })
      .nullable()
      .default(null)
      .describe(
        'Splits `train_file` by the hash of each question, whatever the order of the file: equal questions are on one side. ' +
          'null holds out its first questions, at most `evaluation.instances` and a quarter.',
      )
      .meta({ since: '0.2.0' }),
    train_split: rowSlice
      .nullable()
      .default(null)
      .describe(
        'The questions of `train_file` that are trained on, by their places in it, such as `train[16:]`; the name before the brackets says nothing. null: all that are not evaluated.',
      )
      .meta({ since: '0.2.0', earlier: null }),
    evaluation_split: rowSlice
      .nullable()
      .default(null)
      .describe(
        'The questions that are evaluated, such as `test[:16]`: of `evaluation_file`, or else of `train_file`. At most `evaluation.instances` are.',
      )
      .meta({ since: '0.2.0', earlier: null }),
    format: oneOf(TASK_FORMATS, {
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
      .describe('The form of the rows of the files.'),
    show_tests: oneOf(SHOWN_TESTS, { none: 'None: the text alone asks.', first: 'The first one.', all: 'All of them.' })
      .default('first')
      .describe('How many of its tests an MBPP question shows; they alone name the function.'),
    levels: z
      .array(z.number().min(0))
      .min(1)
      .max(8)
      .default([1, 1, 1, 1])
      .describe(
        'Mix weights of the levels of the bundled task, the easiest first: arithmetic has 8, python and logic 6, hints 3 (help, redundant, mislead), others 4. Those of dealer are games: ' +
          'the dealer weighs 0.2, 1, 3 and 8 times what follows, by luck (1 to 4) or by what it can learn (5 to 8).',
      ),
    roles: positive
      .default(2)
      .describe(
        'Roles of the bundled team: 2, 3, 4 or 6 for task dealer, 2 to 8 for chain, 2 or 1 for functions, 3 or 1 for logic, 2 or 3 for zebra, numbers and blocksworld, 2 for the others. `fanout` has a number for each.',
      )
      .meta({ since: '0.2.0', earlier: 2 }),
    refuse_overlap: z
      .boolean()
      .default(true)
      .describe(
        'Stops the run if a training question is also evaluated, even with different case or whitespace; false only warns.',
      ),
  })
  .prefault({})
  .describe('What the team works on.');
