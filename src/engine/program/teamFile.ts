/** Reads team files, which name who answers for recorded agents, and what decides the next step. */

import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { z } from 'zod';
import { MAX_EVENT_TEXT } from '../../domain/episode.ts';
import { EVALUATOR_KINDS, type EvaluatorName } from '../../evaluate/kinds.ts';
import { readRegular } from '../../files/regularFile.ts';
import { MOST_STEPS, type EpisodeStep, type TextPart } from '../../logs/inferred.ts';
import { C3Error } from '../../shared/errors.ts';
import { isServed, type EndpointSettings, type ServedSettings } from '../../shared/rolePolicies.ts';
import { MAX_YAML_BYTES } from '../../shared/text/yaml.ts';
import { readDocument, suggestName } from '../../team/document.ts';
import { rolePolicySchema } from '../../training/keys/policyKeys.ts';
import { PROGRAM_DRIVER } from '../places.ts';

const MOST_ARGUMENTS = 64;
const MOST_TOKENS = 2 ** 20;
const MOST_TEMPERATURE = 100;
const LONGEST = 4096;
/** Default seconds for an answer; a program is started first and waits for its turn. */
const DRIVER_SECONDS = 60;
const PROGRAM_SECONDS = 600;

/** A driver runs a command or a judge itself, and ends an episode with the return. */
const SCORERS = EVALUATOR_KINDS.map(({ name }) => name).filter((name) => name !== 'command' && name !== 'judge');
const served = rolePolicySchema.refine(
  (one) => one.kind === 'vscode' || (one.kind === 'endpoint' && one.api === 'chat'),
  {
    error:
      'must be an endpoint with api: chat, such as {endpoint: https://api.example.com/v1, model_name: NAME}, or {vscode: {}}',
  },
);
const part = z.union([z.string(), z.strictObject({ of: z.union([z.literal('question'), z.int().min(1)]) })]);
const seen = z.strictObject({
  as: z.enum(['system', 'user', 'assistant', 'tool']),
  name: z.string().max(LONGEST).optional(),
  text: z.union([z.string().transform((text): TextPart[] => [text]), z.array(part)]),
});
const step = z.union(
  [
    z.strictObject({ role: z.string().min(1), sees: z.array(seen).min(1) }),
    z.strictObject({ event: z.string().min(1), text: z.string().max(MAX_EVENT_TEXT).optional() }),
  ],
  { error: 'must be {role, sees} or {event, text}' },
);
const command = z
  .array(z.string().min(1).max(LONGEST), { error: 'must be a list, such as [node, team.mjs]' })
  .min(1)
  .max(MOST_ARGUMENTS);
const teamSchema = z.strictObject({
  driver: command.optional(),
  program: command.optional(),
  steps: z.array(step).min(1).max(MOST_STEPS).optional(),
  contexts: z.enum(['recorded', 'program']).default('recorded'),
  answer: z.string().min(1).max(LONGEST).nullable().default(null),
  time_limit: z.number().min(1).max(3600).optional(),
  serve: z.string().min(1).max(LONGEST).optional(),
  policy: served.optional(),
  policies: z.record(z.string(), served).default({}),
  evaluator: z.enum(SCORERS).default('exact'),
  temperature: z.number().gt(0).max(MOST_TEMPERATURE).nullable().default(null),
  max_new_tokens: z.int().min(1).max(MOST_TOKENS).default(1024),
});

export interface RecordedTeam {
  readonly path: string;
  readonly folder: string;
  /** SHA-256 of the file's bytes, in hexadecimal. */
  readonly sha256: string;
  /** The user's command that is started in the folder: the driver or the program; null for steps. */
  readonly starts: readonly string[] | null;
  /** The source of the next step: a driver, the product's driver for a program, or the file's steps. */
  readonly next:
    | { readonly kind: 'driver'; readonly name: string; readonly command: readonly [string, ...string[]] }
    | { readonly kind: 'steps'; readonly steps: readonly EpisodeStep[] };
  /** True if contexts of the program count even if they differ from the log. */
  readonly ownContexts: boolean;
  /** The right answer if the log does not contain it, or null. */
  readonly answer: string | null;
  /** Maximum milliseconds for one answer. */
  readonly timeLimit: number;
  /** The bundled team or the folder of the model that is served here for roles without a policy, or null. */
  readonly serve: string | null;
  /** The roles that the file names. */
  readonly roles: readonly string[];
  /** Returns the policy that answers for a role, if one is named. */
  readonly policyOf: (role: string) => ServedSettings | undefined;
  readonly evaluator: EvaluatorName;
  /** Null for the temperature of the run. */
  readonly temperature: number | null;
  readonly maxNewTokens: number;
}

/** Returns the settings of a server at an address, with default limits. */
export function createEndpointSettings(address: string, model: string): EndpointSettings {
  const policy = rolePolicySchema.parse({ endpoint: address, model_name: model });
  if (policy.kind !== 'endpoint') {
    throw new Error('An address is an endpoint.');
  }
  return policy;
}

/**
 * Reads a team file.
 * @param agreed SHA-256 of the bytes that the user agreed to, or null
 * @throws C3Error('input') naming file, line and key, or if the bytes are not those that the user
 *   agreed to
 */
export async function readTeam(path: string, agreed: string | null = null): Promise<RecordedTeam> {
  const bytes = await readRegular(path, MAX_YAML_BYTES, 'name an existing team file');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  // From here on only these bytes are used, never the file again: what is started is what the user
  // agreed to.
  if (agreed !== null && agreed !== sha256) {
    throw new C3Error('input', `${path} was changed after the user was asked; nothing was started. Ask again.`);
  }
  const document = readDocument(bytes.toString('utf8'), path);
  const parsed = teamSchema.safeParse(document.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const key = (issue?.path ?? []).filter((part) => typeof part !== 'symbol');
    if (issue?.code === 'unrecognized_keys' && key.length === 0) {
      const [unknown = ''] = issue.keys;
      throw document.error([unknown], `unknown key; ${suggestName(unknown, Object.keys(teamSchema.shape))}`);
    }
    throw document.error(key, `${issue?.message ?? 'is not valid'}.`);
  }
  const { driver: own, program, steps, policy, policies, evaluator, temperature, serve } = parsed.data;
  if ([own, program, steps].filter((one) => one !== undefined).length !== 1) {
    throw document.error(
      [],
      'needs a driver, or a program or steps in its place: `c3 infer MESSAGE` writes the steps of a recording.',
    );
  }
  if (policy !== undefined && serve !== undefined) {
    throw document.error(['serve'], 'names a model for all roles, as policy does; omit one of them.');
  }
  const driver = program === undefined ? own : [process.execPath, PROGRAM_DRIVER, ...program];
  const early = (steps ?? []).findIndex(
    (one, index) =>
      'sees' in one && one.sees.some(({ text }) => text.some((of) => typeof of !== 'string' && Number(of.of) > index)),
  );
  if (early >= 0) {
    throw document.error(['steps', early], 'sees what is said in it or later; refer to earlier steps.');
  }
  const [first = '', ...args] = driver ?? [];
  const name = program === undefined ? `driver ${(own ?? []).join(' ')}` : `program ${program.join(' ')}`;
  const asServed = (one: typeof policy): ServedSettings | undefined =>
    one !== undefined && isServed(one) ? one : undefined;
  return {
    path,
    folder: dirname(path),
    sha256,
    starts: own ?? program ?? null,
    next: steps === undefined ? { kind: 'driver', name, command: [first, ...args] } : { kind: 'steps', steps },
    ownContexts: parsed.data.contexts === 'program',
    answer: parsed.data.answer,
    timeLimit: (parsed.data.time_limit ?? (program === undefined ? DRIVER_SECONDS : PROGRAM_SECONDS)) * 1000,
    serve: serve ?? null,
    roles: [
      ...new Set([...Object.keys(policies), ...(steps ?? []).flatMap((one) => ('role' in one ? [one.role] : []))]),
    ],
    policyOf: (role) => asServed(Object.hasOwn(policies, role) ? policies[role] : policy),
    evaluator,
    temperature,
    maxNewTokens: parsed.data.max_new_tokens,
  };
}
