/** The keys of a role's policy in a run configuration. */
import { z } from 'zod';
import { BASE_SNAPSHOT, POLICY_KINDS, type RolePolicySettings } from '../../shared/rolePolicies.ts';
import { described, pathTo, positive } from './configKeys.ts';

/** Rows of one script, and characters of one answer. */
const MOST_ANSWERS = 1000;
const MOST_CHARACTERS = 20_000;
const MOST_NAME = 200;

const answers = z
  .array(
    z.strictObject({
      answer: z.string().max(MOST_CHARACTERS).describe('What the role says.'),
      question: z.string().min(1).max(MOST_CHARACTERS).optional().describe('Only to this question.'),
      turn: positive.max(MOST_ANSWERS).optional().describe('Only the n-th time that the role speaks, from 1.'),
      context_key: z
        .string()
        .regex(/^\d{1,19}$/u, 'must be a context key, digits in quotes')
        .optional()
        .describe('Only in the context of this key, in quotes; the details of a message show it.'),
    }),
  )
  .min(1)
  .max(MOST_ANSWERS)
  .optional()
  .describe(
    '`kind: scripted`: the first row whose conditions all hold gives the answer; a row without conditions always does.',
  );

const keysSchema = z.strictObject({
  kind: described(POLICY_KINDS)
    .optional()
    .describe('What answers for the role. May be omitted where another key says it.'),
  answers,
  snapshot: z
    .preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().min(1).max(MOST_NAME))
    .optional()
    .describe(
      '`kind: snapshot`: `base` for the weights that this run begins with, or, with `run`, a step of that run or the first digits of one of its snapshots.',
    ),
  run: z
    .string()
    .min(1)
    .max(MOST_NAME)
    .optional()
    .describe('`kind: snapshot`: the earlier run in the same store that the snapshot is of.'),
  adapter: pathTo('folder')
    .optional()
    .describe("`kind: adapter`: a folder with an adapter of the run's model in PEFT's layout, relative to this file."),
  model: pathTo('folder')
    .optional()
    .describe('`kind: model`: the folder of another model in the Hugging Face layout, relative to this file.'),
  learns: z
    .boolean()
    .refine((value) => !value, 'must be false; a role that learns needs no policy of its own')
    .optional()
    .describe(
      "`kind: own`: the run's model answers for the role, and nothing is learned from what it says. Its messages are credited all the same.",
    ),
});
type Keys = z.infer<typeof keysSchema>;

/** The key that a kind of policy cannot do without, and the others that it has. */
const KEYS_OF = {
  scripted: ['answers'],
  snapshot: ['snapshot', 'run'],
  adapter: ['adapter'],
  model: ['model'],
  own: ['learns'],
} as const satisfies Readonly<Record<RolePolicySettings['kind'], readonly [keyof Keys, ...(readonly (keyof Keys)[])]>>;

/** What is wrong with the keys of one policy: the key, and a sentence behind it; null where nothing is. */
function keysProblem(given: Keys): readonly [key: string, sentence: string] | null {
  const kind = kindOf(given);
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
  if (kind === 'snapshot' && (given.snapshot === BASE_SNAPSHOT) !== (given.run === undefined)) {
    return given.run === undefined
      ? ['snapshot', `names a snapshot of an earlier run; add run: RUN, or write ${BASE_SNAPSHOT}`]
      : ['run', `has no snapshot ${BASE_SNAPSHOT}; give a step of it, or omit run`];
  }
  return null;
}

function kindOf(given: Keys): RolePolicySettings['kind'] | undefined {
  return given.kind ?? POLICY_KINDS.map(({ name }) => name).find((name) => given[KEYS_OF[name][0]] !== undefined);
}

/** What answers for one role. */
export const rolePolicySchema = keysSchema.transform((given, context): RolePolicySettings => {
  // A key that is not known may be the one that was meant.
  const problem = context.issues.length > 0 ? null : keysProblem(given);
  if (problem !== null) {
    const [key, message] = problem;
    context.addIssue({ code: 'custom', path: [key], message, input: given });
    return z.NEVER;
  }
  const { answers: rows = [], snapshot = '', run, adapter = '', model = '' } = given;
  switch (kindOf(given)) {
    case 'snapshot':
      return { kind: 'snapshot', snapshot, ...(run !== undefined && { run }) };
    case 'adapter':
      return { kind: 'adapter', adapter };
    case 'model':
      return { kind: 'model', model };
    case 'own':
      return { kind: 'own', learns: false };
    default:
      return { kind: 'scripted', answers: rows };
  }
});

/** Every key that a policy may have, for whoever looks for names: the items of a list are all alike. */
export const EVERY_POLICY_KEY: object = Object.fromEntries(
  Object.keys(keysSchema.shape).map((key) => [
    key,
    key === 'answers' ? [{ answer: '', question: '', turn: 1, context_key: '' }] : key === 'learns' ? false : '',
  ]),
);
