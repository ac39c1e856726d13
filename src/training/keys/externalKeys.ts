/**
 * The keys of a run configuration for the text that roles read between two turns, under their
 * published names (MAGRPO reference sections 5 to 7). They replace `environment` and `history` in the
 * rounds of the protocol.
 */

import { z } from 'zod';
import { MEMORY_MODES } from '../../team/history.ts';
import type { GivenRounds } from '../../team/parseRounds.ts';
import type { Protocol } from '../../team/protocol.ts';
import { enumKey } from './keyKinds.ts';

/** The largest bound of a slice of assertions. */
const MOST_ASSERTIONS = 999_999_999;

/** Modes that execute the program against some of its tests. */
const WITH_TESTS = ['level_feedback', 'level_passed', 'passed'] as const;

/** The keys that mean the same here and in the published scripts. */
export const EXTERNAL_KEYS = {
  mode: enumKey([...WITH_TESTS, 'plain', 'expert_edits'], {
    level_feedback:
      'Diagnostics of each level: definitions, syntax, failing tests with their errors, use of the helper.',
    level_passed: 'Short signals per level.',
    passed: 'One signal: all levels passed or not.',
    plain: 'The request to revise, and nothing else.',
    expert_edits: 'Edits that an expert proposes, who does not see the tests.',
  })
    .default('level_feedback')
    .describe('The roles read this between two turns.'),
  memory_mode: enumKey(MEMORY_MODES, {
    last: 'The original instruction and the newest function.',
    full: 'All earlier prompts and responses of the role, numbered.',
    memoryful: 'Nothing is repeated: the role continues its own conversation.',
  })
    .default('full')
    .describe("A role remembers this of its own earlier turns, and never another role's."),
  previous_prompts: z
    .boolean()
    .default(false)
    .describe('true repeats earlier prompts (`memory_mode: last` and `full`).'),
  previous_responses: z
    .boolean()
    .default(true)
    .describe('true repeats earlier responses (`memory_mode: last` and `full`).'),
} as const;

export const externalSchema = z
  .strictObject({
    ...EXTERNAL_KEYS,
    sandbox_slice: z
      .union(
        [z.int().min(-MOST_ASSERTIONS).max(MOST_ASSERTIONS), z.literal('all'), z.null()],
        'must be a whole number, below 0 to count from the end, or all',
      )
      .default(1)
      .meta({
        description:
          'The feedback executes the first n assertions, the last n for -n, or all for 0, null and `all`. ' +
          'Rewards always use all of them.',
        choices: { all: 'All of them, as 0 and null.' },
      }),
    expert_edits_model: z
      .enum(['rules', 'policy'], 'must be rules, or policy and a model as `expert` in policies')
      .default('rules')
      .meta({
        description:
          'With `mode: expert_edits`, this expert proposes edits. It reads the problem and the program, never ' +
          'the tests.',
        choices: {
          rules: 'Rules that come with the product; no model is asked.',
          policy: 'What `policies` has for the role `expert`, such as `{expert: {model: FOLDER}}`.',
        },
      }),
  })
  .nullable()
  .default(null)
  .describe(
    'A helper and a main role on code read this between two turns, as in the published scripts, in ' +
      'place of `environment` and `history` in the `rounds` of the protocol. null takes those of the ' +
      'protocol.',
  )
  .meta({ since: '0.2.0', earlier: null });

export type ExternalSettings = NonNullable<z.infer<typeof externalSchema>>;

/** Returns true if a mode executes programs against tests, which needs an evaluator that does so. */
export const modeRunsTests = (mode: ExternalSettings['mode']): boolean => WITH_TESTS.some((one) => one === mode);

/** Returns the fault of the section for a protocol, to follow its key, or null if there is none. */
export const findExternalFault = (
  { external }: { readonly external: ExternalSettings | null },
  { name, rounds }: Pick<Protocol, 'name' | 'rounds'>,
): string | null =>
  external !== null && rounds === undefined
    ? `says what is read between two turns, and the protocol ${name} has no rounds; give it rounds, or omit the section.`
    : null;

/** Converts the settings to the rounds of a protocol. */
export function toExternalRounds(settings: ExternalSettings | null): Pick<GivenRounds, 'environment' | 'history'> {
  if (settings === null) {
    return {};
  }
  const { mode, sandbox_slice: slice, memory_mode: memory, previous_prompts: prompts } = settings;
  return {
    environment: {
      name: mode,
      ...(modeRunsTests(mode) && { sandbox_slice: slice }),
      ...(mode === 'expert_edits' && { expert: settings.expert_edits_model }),
    },
    history: { memory, prompts, responses: settings.previous_responses },
  };
}
