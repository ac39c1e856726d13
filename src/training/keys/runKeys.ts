/**
 * The keys of a run configuration (`*.c3.yaml`) except `method`, whose names are those of the methods.
 * Each key is optional and has its bounds, its default and its help. The editor's help and the
 * template of a new configuration show only these keys. The defaults are those of the bundled team's
 * run.
 */

import { z } from 'zod';
import { EVALUATOR_KINDS } from '../../evaluate/kinds.ts';
import { CODE_BLOCKS } from '../../evaluate/python/code.ts';
import { DEFAULT_PROVIDER, DEVICE_CHOICES, PRECISIONS } from '../../shared/devices.ts';
import { ADAPTER_MODULES, BUNDLED_MODEL, SMALL_MODEL } from '../../shared/runNames.ts';
import { beginSchema } from './beginKeys.ts';
import { ccpoSchema } from './ccpoKeys.ts';
import { creditSchema } from './creditKeys.ts';
import { externalSchema } from './externalKeys.ts';
import { tableKey, enumKey, pathKey, positive, SMALL_WORDS } from './keyKinds.ts';
import { magrpoSchema } from './magrpoKeys.ts';
import { outputSchema } from './outputKeys.ts';
import { rolePolicySchema } from './policyKeys.ts';
import { ppoSchema, valueHeadSchema } from './ppoKeys.ts';
import { taskSchema } from './taskKeys.ts';
import { teamTrSchema } from './teamTrKeys.ts';

/** The largest number of characters in a prompt. */
const MOST_PROMPT = 20_000;

export const RUN_KEYS = {
  title: z
    .string()
    .min(1)
    .max(200)
    .default('Bundled team, arithmetic')
    .describe('Lists and panels show the run under this name.'),
  seed: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'All randomness of the run comes from this seed. The same seed, configuration and machine give the same ' +
        'run, token by token.',
    ),
  model: pathKey('folder', {
    [BUNDLED_MODEL]: 'The small team that comes with the bundled task; it needs no download.',
    [SMALL_MODEL]: SMALL_WORDS,
  })
    .default(BUNDLED_MODEL)
    .describe(
      'The run trains the model of this folder, relative to this file, in the Hugging Face layout: ' +
        'config.json, safetensors, tokenizer.json.',
    ),
  adapter: z
    .strictObject({
      per: enumKey(['team', 'role'], { team: 'All roles share one adapter.', role: 'Each role has its own adapter.' })
        .default('team')
        .describe('This key says which roles share an adapter.'),
      rank: positive
        .max(4096)
        .default(16)
        .describe('The factors have this rank. A higher one can learn more and takes more memory.'),
      alpha: z
        .number()
        .positive()
        .max(1e6)
        .default(32)
        .describe('The product of the factors is scaled by this number divided by `rank`.'),
      target_modules: z
        .array(
          enumKey(ADAPTER_MODULES, {
            q_proj: 'Queries of the attention.',
            k_proj: 'Keys of the attention.',
            v_proj: 'Values of the attention.',
            o_proj: 'Output of the attention.',
            gate_proj: 'Gate of the feed-forward layer.',
            up_proj: 'The up projection of the feed-forward layer.',
            down_proj: 'The down projection of the feed-forward layer.',
          }),
        )
        .min(1)
        .default([...ADAPTER_MODULES])
        .describe('These matrices get low-rank factors, in every layer.'),
    })
    .nullable()
    .default(null)
    .describe('The run trains low-rank factors over the frozen model (LoRA). null trains the whole model.'),
  chat: z
    .strictObject({
      template: enumKey(['auto', 'none'], {
        auto: 'Through the chat template of the model folder, if it has one.',
        none: 'As plain text.',
      })
        .default('auto')
        .describe('Contexts are written for the model in this form.'),
      thinking: z
        .boolean()
        .default(false)
        .describe('true lets a model that can reason in tags do so before it answers. Needs `template: auto`.'),
    })
    .prefault({})
    .describe('These keys say how contexts are written for the model.'),
  protocol: pathKey('protocol', {
    bundled:
      'That of the bundled task: a reasoner and an actor, a planner and a coder (python), a dealer and ' +
      'players, a helper and a main role (functions), voters (logic), or roles who speak in turn (the ' +
      'others).',
  })
    .default('bundled')
    .describe(
      'A protocol says who speaks when and sees what. This key names its file in JSON or YAML, relative to this file.',
    ),
  prompts: z
    .record(z.string().min(1), z.string().max(MOST_PROMPT).regex(/\S/u, 'is blank; write what the role is to do'))
    .optional()
    .describe(
      'These prompts take the place of those of the protocol, by role: `{reasoner: "Plan the steps."}`. `C3: ' +
        'Try a change` says whether one helps, and writes it here.',
    )
    .meta({ since: '0.2.0' }),
  begin: beginSchema,
  policies: z
    .record(z.string().min(1), rolePolicySchema)
    .optional()
    .describe(
      'These policies answer for roles in place of the weights in training, by role: `{checker: {kind: ' +
        'scripted, answers: [...]}, critic: {model: FOLDER}}`. Their messages are credited and replayed, and ' +
        'never trained on. The mode expert_edits asks the policy `expert`.',
    )
    .meta({ since: '0.2.0' }),
  task: taskSchema,
  evaluator: tableKey(EVALUATOR_KINDS)
    .default('auto')
    .describe('The evaluator scores the last message of an episode.')
    .meta({ earlier: 'answer', alwaysStored: true }),
  code_blocks: enumKey(CODE_BLOCKS, {
    first: 'The first one, as the published extraction.',
    last: 'The last one.',
    all: 'All of them as one program.',
  })
    .default('first')
    .describe(
      'Where a message has several blocks of code, these blocks are its code: of the blocks fenced as Python, ' +
        'else of those without a language.',
    )
    .meta({ since: '0.2.0', earlier: 'first' }),
  scorer: z
    .strictObject({
      command: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe(
          'This program scores with `evaluator: command`. It is started with its arguments in the folder of ' +
            'this file, without a shell, reads one JSON object (`uid`, `question`, `answer`, `text`) and prints ' +
            'a number from 0 to 1.',
        ),
      time_limit: z
        .number()
        .positive()
        .max(600)
        .default(30)
        .describe('The program of `evaluator: command` has this many seconds for one message.'),
      rubric: z
        .string()
        .min(1)
        .max(20_000)
        .optional()
        .describe('This text tells `evaluator: judge` what a good message is, in your words.'),
      judge: z
        .record(z.string(), z.unknown())
        .pipe(rolePolicySchema)
        .refine((one) => one.kind === 'vscode' || (one.kind === 'endpoint' && one.api === 'chat'), {
          error: 'must be an endpoint with api: chat, or a chat model of VS Code',
        })
        .optional()
        .describe(
          'This model scores with `evaluator: judge`. It has the keys of a policy with `endpoint` or `vscode`.',
        ),
      labels: pathKey('rows')
        .optional()
        .describe(
          'This file, relative to the configuration, has messages that you scored: one JSON object a line ' +
            '(`question`, `text`, `score` from 0 to 1, and `answer`). `evaluator: judge` is measured on them ' +
            'before the run.',
        ),
    })
    .nullable()
    .default(null)
    .describe(
      'These keys say how `evaluator: command`, which runs with your rights and in trusted workspaces only, or ' +
        '`evaluator: judge` scores a message.',
    )
    .meta({ since: '0.2.0', earlier: null }),
  steps: z.int().min(0).default(36).describe('The run makes this many training steps; 0 evaluates only.'),
  instances_per_step: positive.default(32).describe('Each training step works on this many questions.'),
  dynamic_sampling: z
    .boolean()
    .default(false)
    .describe(
      'true replaces questions without a credit other than 0 by further ones (DAPO). The evaluator calls that ' +
        'the step saved because their result was determined pay for them. Nothing is learned from the replaced ' +
        'questions.',
    )
    .meta({ since: '0.2.0', earlier: false }),
  checkpoint_every: positive
    .default(6)
    .describe(
      'The optimizer has a checkpoint every n steps. A crash loses no step, but the steps since the last ' +
        'checkpoint are executed again.',
    ),
  snapshot_every: positive
    .default(1)
    .describe(
      'The run keeps the weights of every n-th step and of the last. A replay that needs those of a step ' +
        'between rebuilds them from a checkpoint, which is kept for each such stretch.',
    ),
  shape: enumKey(['nested', 'spine', 'spine_rho', 'auto'], {
    nested: 'A tree: every message is continued by as many as `fanout` says.',
    spine:
      'One episode, and alternatives to each of its messages that are continued once; `evaluator_budget` is ' +
      'split evenly over the roles that learn.',
    spine_rho: 'The same, with more alternatives where returns varied more in the step before.',
    auto:
      'The tree whose gradient is predicted to vary least, by the returns of earlier steps. Method c3 with ' +
      '`credit.estimator` loo or loo_two_level.',
  })
    .default('nested')
    .describe(
      'Methods c3 and c3_full_mean spend their evaluator calls in this shape. For teams of three and more ' +
        'roles try `spine`.',
    )
    .meta({ since: '0.2.0', earlier: 'nested' }),
  fanout: z
    .array(positive)
    .min(1)
    .default([2, 4])
    .describe(
      'With `shape: nested`, c3 and c3_full_mean sample this many messages per position of the protocol. The ' +
        'product may not exceed `evaluator_budget`. The other methods sample as many whole episodes as the ' +
        'budget pays for.',
    ),
  fanout_unique: z
    .boolean()
    .default(false)
    .describe(
      'true draws another message for a last message that equals an earlier one in its context, until ' +
        'the planned number is distinct or twice as many were drawn. Method c3 with `shape: nested`, ' +
        '`credit.estimator: loo` and `credit.merge_contexts`, without shared random numbers and group normalization.',
    )
    .meta({ since: '0.2.0', earlier: false }),
  evaluator_budget: positive
    .default(8)
    .describe(
      'A step makes at most this many evaluator calls per problem for the ends of its episodes, in all of its ' +
        'stages together. Each vote that `ccpo` scores by itself counts besides.',
    ),
  sampling: z
    .strictObject({
      temperature: z
        .number()
        .positive()
        .max(10)
        .default(1)
        .describe(
          'The probabilities of tokens are sharpened below 1 and flattened above 1; small numbers stay close ' +
            'to the likeliest token.',
        ),
      top_p: z
        .number()
        .positive()
        .max(1)
        .default(1)
        .describe(
          'Tokens are sampled among the likeliest ones that together have this probability; 1 samples among all.',
        ),
      top_k: z
        .int()
        .min(0)
        .default(0)
        .describe('Tokens are sampled among this many likeliest ones; 0 samples among all.'),
      max_new_tokens: positive
        .default(48)
        .describe('A message has at most this many tokens. A role of the protocol may have a limit of its own.'),
    })
    .prefault({})
    .describe('Messages are sampled by these keys, in training and in sampled evaluations.'),
  magrpo: magrpoSchema,
  external: externalSchema,
  credit: creditSchema,
  ccpo: ccpoSchema,
  ppo: ppoSchema,
  value_head: valueHeadSchema,
  teamtr: teamTrSchema,
  memory: z
    .strictObject({
      limit_gb: z
        .number()
        .positive()
        .nullable()
        .default(null)
        .describe(
          'The run may use this much memory, in GB of 1e9 bytes, on an accelerator of its own memory. null ' +
            'uses all that the machine has.',
        ),
      micro_batch_tokens: positive
        .default(2048)
        .describe('A training micro-batch has at most this many tokens. Fewer take less memory and more time.'),
      recompute: z
        .boolean()
        .default(false)
        .describe(
          'true computes activations again in the backward pass instead of keeping them. It takes less memory ' +
            'and about a third more time.',
        ),
    })
    .prefault({})
    .describe('These keys limit the memory of a run.'),
  evaluation: z
    .strictObject({
      instances: z
        .int()
        .min(0)
        .default(512)
        .describe('Each evaluation takes this many held-out questions; 0 leaves evaluation out.'),
      samples: positive
        .max(1000)
        .default(1)
        .describe(
          'A sampled evaluation takes this many episodes per question. pass@k needs k of them, and every ' +
            'question counts with their mean.',
        ),
      before: z.boolean().default(true).describe('true evaluates the team also before it is trained.'),
      every: z
        .int()
        .min(0)
        .default(0)
        .describe(
          'The team is evaluated every n steps during training; 0 evaluates only before and after it. Training ' +
            'itself is the same either way.',
        )
        .meta({ since: '0.2.0' }),
      batch: positive.default(256).describe('This many episodes are sampled together. Fewer take less memory.'),
    })
    .prefault({})
    .describe('The team is evaluated by these keys, before, during and after training.'),
  output: outputSchema,
  device: z
    .preprocess(
      (value) => (typeof value === 'string' ? { provider: value } : value),
      z.strictObject({
        provider: tableKey(DEVICE_CHOICES).default(DEFAULT_PROVIDER).describe('The run computes on this device.'),
        threads: z.int().positive().max(64).default(2).describe('The CPU computes with this many threads.'),
        precision: enumKey(PRECISIONS, {
          float32: 'As they are trained.',
          float16: 'Half the memory; the weights are rounded.',
        })
          .default('float32')
          .describe(
            'The weights of the model have this precision while an adapter is trained over them, or nothing is ' +
              'trained.',
          ),
      }),
    )
    .prefault({})
    .meta({
      description: 'The run computes on this device. `device: webgpu` is short for its provider.',
      shortFor: 'provider',
    }),
};

export type RunKeys = z.infer<z.ZodObject<typeof RUN_KEYS>>;
