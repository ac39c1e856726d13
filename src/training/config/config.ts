/** The configuration of a run (`*.c3.yaml`), and values derived from it. */

import { z } from 'zod';
import type { Sampling } from '../../domain/message.ts';
import type { AdapterStart } from '../../runtime/modelRuntime.ts';
import { isRecord } from '../../shared/guard.ts';
import type { GivenRounds } from '../../team/parseRounds.ts';
import type { Protocol } from '../../team/protocol.ts';
import { toExternalRounds } from '../keys/externalKeys.ts';
import { RUN_KEYS } from '../keys/runKeys.ts';
import { METHOD_NAMES, getMethodWords } from '../methods/methods.ts';

const { title, ...others } = RUN_KEYS;

/** All keys, in the order in which a configuration is stored. */
export const configSchema = z.strictObject({
  title,
  method: z
    .enum(METHOD_NAMES)
    .meta({ choices: Object.fromEntries(METHOD_NAMES.map((name) => [name, getMethodWords(name).help])) })
    .default('c3')
    .describe(
      'This method credits messages. Every method scores at most `evaluator_budget` episodes per problem and ' +
        'step.',
    ),
  ...others,
});

export type RunConfig = z.infer<typeof configSchema>;

/** Returns the settings of rounds that a configuration gives in place of the protocol's file. */
export const getRunRounds = ({ magrpo, external }: Pick<RunConfig, 'magrpo' | 'external'>): GivenRounds => ({
  ...(magrpo !== null && { discount: magrpo.discount, ...(magrpo.num_turns !== null && { turns: magrpo.num_turns }) }),
  ...toExternalRounds(external),
});

/**
 * The same for a configuration from the store.
 * @throws ZodError if its sections cannot be read
 */
export function readStoredRounds(config: unknown): GivenRounds {
  const { magrpo, external } = isRecord(config) ? config : {};
  return getRunRounds(configSchema.pick({ magrpo: true, external: true }).parse({ magrpo, external }));
}

/**
 * Returns the keys that score a run, from a stored configuration.
 * @throws ZodError if they cannot be read
 */
export function readStoredScoring(config: unknown): Pick<RunConfig, 'evaluator' | 'task'> {
  const { evaluator, task } = isRecord(config) ? config : {};
  return configSchema.pick({ evaluator: true, task: true }).parse({ evaluator, task });
}

export function getRunSampling(config: RunConfig): Sampling {
  const { temperature, top_p: topP, top_k: topK, max_new_tokens: maxNewTokens } = config.sampling;
  return { temperature, topP, topK, maxNewTokens };
}

/** Returns the adapters to train, initialized from the seed; undefined if the whole model is trained. */
export function getRunAdapter(
  { adapter, seed }: Pick<RunConfig, 'adapter' | 'seed'>,
  { roles }: Pick<Protocol, 'roles'>,
): AdapterStart | undefined {
  if (adapter === null) {
    return undefined;
  }
  const settings = { rank: adapter.rank, alpha: adapter.alpha, targetModules: adapter.target_modules };
  return { settings, seed, ...(adapter.per === 'role' && { roles: roles.map(({ name }) => name) }) };
}
