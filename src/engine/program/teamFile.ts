/** Who answers for recorded agents, and the program that knows what is next: a file of the user's own. */
import { dirname } from 'node:path';
import { z } from 'zod';
import { readRegular } from '../../files/regularFile.ts';
import { EVALUATOR_KINDS, type EvaluatorName } from '../../evaluate/kinds.ts';
import type { EndpointSettings } from '../../shared/rolePolicies.ts';
import { MAX_YAML_BYTES } from '../../shared/text/yaml.ts';
import { readDocument } from '../../team/document.ts';
import { rolePolicySchema } from '../../training/config/policyKeys.ts';

const MOST_ARGUMENTS = 64;
const MOST_TOKENS = 2 ** 20;
const MOST_TEMPERATURE = 100;
const LONGEST = 4096;

/** A driver that wants a command or a judge to score runs it itself, and ends with its return. */
const SCORERS = EVALUATOR_KINDS.map(({ name }) => name).filter((name) => name !== 'command' && name !== 'judge');
const endpoint = rolePolicySchema.refine((one) => one.kind === 'endpoint' && one.api === 'chat', {
  error: 'must be an endpoint with api: chat, such as {endpoint: https://api.example.com/v1, model_name: NAME}',
});
const teamSchema = z.strictObject({
  driver: z.array(z.string().min(1).max(LONGEST)).min(1).max(MOST_ARGUMENTS),
  time_limit: z.number().min(1).max(3600).default(60),
  policy: endpoint.optional(),
  policies: z.record(z.string(), endpoint).default({}),
  evaluator: z.enum(SCORERS).default('exact'),
  temperature: z.number().gt(0).max(MOST_TEMPERATURE).nullable().default(null),
  max_new_tokens: z.int().min(1).max(MOST_TOKENS).default(1024),
});

export interface RecordedTeam {
  readonly path: string;
  readonly folder: string;
  /** The driver's command. */
  readonly driver: readonly [string, ...string[]];
  /** Milliseconds for one of its answers. */
  readonly timeLimit: number;
  /** Who answers for a role; undefined where nobody is named. */
  readonly policyOf: (role: string) => EndpointSettings | undefined;
  readonly evaluator: EvaluatorName;
  /** Null for that of the run. */
  readonly temperature: number | null;
  readonly maxNewTokens: number;
}

/** Reads a team file. @throws C3Error('input') naming file, line and key */
export async function readTeam(path: string): Promise<RecordedTeam> {
  const text = (await readRegular(path, MAX_YAML_BYTES, 'name an existing team file')).toString('utf8');
  const document = readDocument(text, path);
  const parsed = teamSchema.safeParse(document.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const key = (issue?.path ?? []).filter((part) => typeof part !== 'symbol');
    throw document.error(key, `${issue?.message ?? 'is not valid'}.`);
  }
  const { driver, policy, policies, evaluator, temperature } = parsed.data;
  const [program = '', ...args] = driver;
  const asEndpoint = (one: typeof policy): EndpointSettings | undefined => (one?.kind === 'endpoint' ? one : undefined);
  return {
    path,
    folder: dirname(path),
    driver: [program, ...args],
    timeLimit: parsed.data.time_limit * 1000,
    policyOf: (role) => asEndpoint(Object.hasOwn(policies, role) ? policies[role] : policy),
    evaluator,
    temperature,
    maxNewTokens: parsed.data.max_new_tokens,
  };
}
