/** The keys of a role's policy in a run configuration. */

import { z } from 'zod';
import { findEndpointFault, trimEndpoint } from '../../shared/endpointAddress.ts';
import {
  BASE_SNAPSHOT,
  ENDPOINT_APIS,
  POLICY_KINDS,
  type RolePolicySettings,
  type ServedSettings,
} from '../../shared/rolePolicies.ts';
import { BUNDLED_MODEL, SMALL_MODEL } from '../../shared/runNames.ts';
import { tableKey, pathKey, positive, SMALL_WORDS } from './keyKinds.ts';

/** The largest number of rows in one script. */
const MOST_ANSWERS = 1000;
const MOST_CHARACTERS = 20_000;
const MOST_NAME = 200;

const answers = z
  .array(
    z.strictObject({
      answer: z.string().max(MOST_CHARACTERS).describe('The role gives this answer.'),
      question: z.string().min(1).max(MOST_CHARACTERS).optional().describe('The row holds for this question alone.'),
      turn: positive
        .max(MOST_ANSWERS)
        .optional()
        .describe('The row holds for the n-th message of the role in an episode, from 1.'),
      context_key: z
        .string()
        .regex(/^\d{1,19}$/u, 'must be a context key, digits in quotes')
        .optional()
        .describe('The row holds for the context of this key, in quotes. The details of a message show the key.'),
    }),
  )
  .min(1)
  .max(MOST_ANSWERS)
  .optional()
  .describe(
    '`kind: scripted`: the first row whose conditions all hold gives the answer. A row without conditions ' +
      'always holds.',
  );

/** Limits of an endpoint. */
const MOST_ADDRESSES = 16;
const MOST_UNDER_WAY = 256;
const MOST_RETRIES = 20;
const MOST_SECONDS = 290;
const MOST_COUNT = 1e12;

/** Addresses of a server. They must not contain secrets. */
const addresses = z
  .union([z.string(), z.array(z.string()).min(1).max(MOST_ADDRESSES)], {
    error: `must be an address, or a list of 1 to ${MOST_ADDRESSES}`,
  })
  .transform((given, context) => {
    const all = [given].flat();
    // Reports the first fault, which says what to do; the message of a union would not.
    const fault = all.map(findEndpointFault).find((one) => one !== null);
    if (fault !== undefined) {
      context.addIssue({ code: 'custom', message: fault, input: given });
      return z.NEVER;
    }
    return all.map(trimEndpoint);
  });
const name = z.string().min(1).max(MOST_NAME);
const amount = z.number().min(0).max(MOST_COUNT);

const keysSchema = z.strictObject({
  kind: tableKey(POLICY_KINDS)
    .optional()
    .describe('A policy of this kind answers for the role. The key may be omitted if another key says the kind.'),
  answers,
  snapshot: z
    .preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().min(1).max(MOST_NAME))
    .optional()
    .describe(
      '`kind: snapshot`: `base` takes the weights that this run begins with. With `run`, a number takes those ' +
        'after a step of that run, and digits those of the snapshot whose name begins with them.',
    ),
  run: z
    .string()
    .min(1)
    .max(MOST_NAME)
    .optional()
    .describe('`kind: snapshot`: the snapshot is of this earlier run in the same store.'),
  adapter: pathKey('folder')
    .optional()
    .describe(
      "`kind: adapter`: this folder, relative to the configuration, has an adapter of the run's model in " +
        "PEFT's layout.",
    ),
  model: pathKey('folder', {
    [BUNDLED_MODEL]: 'The team that comes with the bundled task.',
    [SMALL_MODEL]: SMALL_WORDS,
  })
    .optional()
    .describe(
      '`kind: model`: this folder, relative to the configuration, has another model in the Hugging Face layout.',
    ),
  endpoint: addresses
    .optional()
    .describe(
      '`kind: endpoint`: this is the base address of an OpenAI-compatible server. Several addresses in a list ' +
        'share the requests. **C3: Set endpoint key** sets its key, or the variable C3_KEY_HOST of the ' +
        'environment has it.',
    ),
  vscode: z
    .strictObject({
      vendor: name.optional().describe('This vendor offers the model, such as `copilot`.'),
      family: name.optional().describe('The model is of this family, such as `gpt-4.1`.'),
      version: name.optional().describe('The model has this version.'),
      id: name.optional().describe('The model has this name, which no other model of the vendor has.'),
    })
    .optional()
    .describe(
      '`kind: vscode`: a window of VS Code asks the first of its chat models that fits all these keys; `{}` fits any.',
    ),
  model_name: z
    .string()
    .min(1)
    .max(MOST_NAME)
    .optional()
    .describe('`kind: endpoint`: the server has the model under this name.'),
  api: tableKey(ENDPOINT_APIS)
    .optional()
    .describe('`kind: endpoint`: the server is asked in this form; chat by default.'),
  stream: z.boolean().optional().describe('`kind: endpoint`: true receives answers in pieces; false by default.'),
  concurrency: positive
    .max(MOST_UNDER_WAY)
    .optional()
    .describe(
      '`kind: endpoint` or `vscode`: one address has at most this many requests under way; 8 by default, 4 ' +
        'for `vscode`.',
    ),
  requests_per_minute: positive
    .max(MOST_ANSWERS * MOST_ANSWERS)
    .nullish()
    .describe(
      '`kind: endpoint` or `vscode`: one address gets at most this many requests in a minute; any number by default.',
    ),
  retries: z
    .int()
    .min(0)
    .max(MOST_RETRIES)
    .optional()
    .describe(
      '`kind: endpoint` or `vscode`: a request is repeated at most this many times if that may help; 5 ' +
        'by default.',
    ),
  time_limit: z
    .number()
    .min(1)
    .max(MOST_SECONDS)
    .optional()
    .describe('`kind: endpoint` or `vscode`: one attempt has this many seconds; 120 by default.'),
  prices: z
    .strictObject({
      input: amount.describe('A million tokens of prompts cost this much.'),
      output: amount.describe('A million tokens of answers cost this much.'),
    })
    .optional()
    .describe(
      '`kind: endpoint` or `vscode`: a million tokens cost this much, in a currency of your choice; nothing ' +
        'by default.',
    ),
  spending: z
    .strictObject({
      tokens: positive.max(MOST_COUNT).nullish().describe('The role may use this many tokens of prompts and answers.'),
      money: amount.nullish().describe('The role may cost this much, in the currency of `prices`.'),
    })
    .optional()
    .describe(
      '`kind: endpoint` or `vscode`: these keys bound the cost of the role in a run with all of its replays; ' +
        'no bound by default.',
    ),
  learns: z
    .boolean()
    .refine((value) => !value, 'must be false; a role that learns needs no policy of its own')
    .optional()
    .describe(
      "`kind: own`: the run's model answers for the role, and nothing is learned from what it says. Its messages are still credited.",
    ),
});
type Keys = z.infer<typeof keysSchema>;

/** Keys of all models that are asked over a connection. */
const ASKING = ['concurrency', 'requests_per_minute', 'retries', 'time_limit', 'prices', 'spending'] as const;

/** The key that a kind of policy requires, followed by its other keys. */
const KEYS_OF = {
  scripted: ['answers'],
  snapshot: ['snapshot', 'run'],
  adapter: ['adapter'],
  endpoint: ['endpoint', 'model_name', 'api', 'stream', ...ASKING],
  vscode: ['vscode', ...ASKING],
  model: ['model'],
  own: ['learns'],
} as const satisfies Readonly<Record<RolePolicySettings['kind'], readonly [keyof Keys, ...(readonly (keyof Keys)[])]>>;

/** Returns the faulty key of one policy and a sentence to follow it, or null if there is no fault. */
function findPolicyKeysFault(given: Keys): readonly [key: string, sentence: string] | null {
  const kind = inferPolicyKind(given);
  if (kind === undefined) {
    return ['kind', `must be one of ${POLICY_KINDS.map(({ name }) => name).join(', ')}`];
  }
  const [needed, ...others]: readonly [keyof Keys, ...(keyof Keys)[]] = KEYS_OF[kind];
  if (given[needed] === undefined) {
    return [needed, `is needed by kind: ${kind}`];
  }
  const stranger = Object.keys(given).find((key) => ![needed, ...others, 'kind'].some((known) => known === key));
  if (stranger !== undefined) {
    return [stranger, `does not belong to kind: ${kind}; omit it`];
  }
  if (kind === 'endpoint' && given.model_name === undefined) {
    return ['model_name', 'is needed by kind: endpoint; give the name that the server has for the model'];
  }
  if (typeof given.spending?.money === 'number' && given.prices === undefined) {
    return ['prices', 'is needed by spending.money; give what a million tokens cost'];
  }
  if (kind === 'snapshot' && (given.snapshot === BASE_SNAPSHOT) !== (given.run === undefined)) {
    return given.run === undefined
      ? ['snapshot', `names a snapshot of an earlier run; add run: RUN, or write ${BASE_SNAPSHOT}`]
      : ['run', `has no snapshot ${BASE_SNAPSHOT}; give a step of it, or omit run`];
  }
  return null;
}

function inferPolicyKind(given: Keys): RolePolicySettings['kind'] | undefined {
  return given.kind ?? POLICY_KINDS.map(({ name }) => name).find((name) => given[KEYS_OF[name][0]] !== undefined);
}

/** Default numbers of simultaneous requests. Models that are paid by the request have stricter limits. */
const AT_A_SERVER = 8;
const AT_A_WINDOW = 4;

const readAskingKeys = (given: Keys, concurrency: number): Pick<ServedSettings, (typeof ASKING)[number]> => ({
  concurrency: given.concurrency ?? concurrency,
  requests_per_minute: given.requests_per_minute ?? null,
  retries: given.retries ?? 5,
  time_limit: given.time_limit ?? 120,
  prices: given.prices ?? { input: 0, output: 0 },
  spending: { tokens: given.spending?.tokens ?? null, money: given.spending?.money ?? null },
});

/** The policy that answers for one role. */
export const rolePolicySchema = keysSchema.transform((given, context): RolePolicySettings => {
  // With an unknown key, other faults may be consequences: the unknown key may be the intended one.
  const fault = context.issues.length > 0 ? null : findPolicyKeysFault(given);
  if (fault !== null) {
    const [key, message] = fault;
    context.addIssue({ code: 'custom', path: [key], message, input: given });
    return z.NEVER;
  }
  const { answers: rows = [], snapshot = '', run, adapter = '', model = '' } = given;
  switch (inferPolicyKind(given)) {
    case 'snapshot':
      return { kind: 'snapshot', snapshot, ...(run !== undefined && { run }) };
    case 'adapter':
      return { kind: 'adapter', adapter };
    case 'model':
      return { kind: 'model', model };
    case 'endpoint':
      return {
        kind: 'endpoint',
        endpoint: given.endpoint ?? [],
        model_name: given.model_name ?? '',
        api: given.api ?? 'chat',
        stream: given.stream ?? false,
        ...readAskingKeys(given, AT_A_SERVER),
      };
    case 'vscode':
      return { kind: 'vscode', vscode: given.vscode ?? {}, ...readAskingKeys(given, AT_A_WINDOW) };
    case 'own':
      return { kind: 'own', learns: false };
    default:
      return { kind: 'scripted', answers: rows };
  }
});
