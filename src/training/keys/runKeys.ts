/**
 * The keys of a run configuration (`*.c3.yaml`) but `method`, whose names are those of the methods: each optional, with
 * its bounds, its default and its words. The editor's help and the template of a new configuration show no others. The
 * defaults are the bundled team's run.
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
import { described, oneOf, pathTo, positive, SMALL_WORDS } from './keyKinds.ts';
import { magrpoSchema } from './magrpoKeys.ts';
import { outputSchema } from './outputKeys.ts';
import { rolePolicySchema } from './policyKeys.ts';
import { ppoSchema, valueHeadSchema } from './ppoKeys.ts';
import { taskSchema } from './taskKeys.ts';
import { teamTrSchema } from './teamTrKeys.ts';

/** Characters of a prompt. */
const MOST_PROMPT = 20_000;

export const RUN_KEYS = {
  title: z
    .string()
    .min(1)
    .max(200)
    .default('Bundled team, arithmetic')
    .describe('The name of the run, as lists and panels show it.'),
  seed: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'The seed of all randomness in the run. The same seed, configuration and machine give the same run, token by token.',
    ),
  model: pathTo('folder', {
    [BUNDLED_MODEL]: 'The small team that comes with the bundled task; it needs no download.',
    [SMALL_MODEL]: SMALL_WORDS,
  })
    .default(BUNDLED_MODEL)
    .describe(
      'A model folder in the Hugging Face layout, relative to this file: config.json, safetensors, tokenizer.json.',
    ),
  adapter: z
    .strictObject({
      per: oneOf(['team', 'role'], { team: 'All roles share one adapter.', role: 'Each role has its own adapter.' })
        .default('team')
        .describe('Who shares an adapter.'),
      rank: positive
        .max(4096)
        .default(16)
        .describe('The rank of the factors: a higher one can learn more and takes more memory.'),
      alpha: z
        .number()
        .positive()
        .max(1e6)
        .default(32)
        .describe('How much the factors count: their product is scaled by alpha / rank.'),
      target_modules: z
        .array(
          oneOf(ADAPTER_MODULES, {
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
        .describe('The matrices in every layer that get low-rank factors.'),
    })
    .nullable()
    .default(null)
    .describe('Trains low-rank factors over the frozen model (LoRA). null trains the whole model.'),
  chat: z
    .strictObject({
      template: oneOf(['auto', 'none'], {
        auto: 'Through the chat template of the model folder, where it has one.',
        none: 'As plain text.',
      })
        .default('auto')
        .describe('How contexts are written for the model.'),
      thinking: z
        .boolean()
        .default(false)
        .describe('Lets a model that can reason in tags do so before it answers. Needs `template: auto`.'),
    })
    .prefault({})
    .describe('How a model reads its contexts.'),
  protocol: pathTo('protocol', {
    bundled:
      'That of the bundled task: a reasoner and an actor, a planner and a coder (python), a dealer and ' +
      'players, a helper and a main role (functions), voters (logic), or roles who speak in turn (the ' +
      'others).',
  })
    .default('bundled')
    .describe('Who speaks when and sees what: a protocol file in JSON or YAML, relative to this file.'),
  prompts: z
    .record(z.string().min(1), z.string().max(MOST_PROMPT).regex(/\S/u, 'is blank; write what the role is to do'))
    .optional()
    .describe(
      'Prompts in the place of those of the protocol, by role: `{reasoner: "Plan the steps."}`. `C3: Try a change` says whether one helps, and writes it here.',
    )
    .meta({ since: '0.2.0' }),
  begin: beginSchema,
  policies: z
    .record(z.string().min(1), rolePolicySchema)
    .optional()
    .describe(
      'Roles that the weights in training do not answer for, by name: `{checker: {kind: scripted, answers: [...]}, critic: {model: FOLDER}}`. ' +
        'What they say is credited and replayed, and never trained on. `expert` is what the mode expert_edits asks.',
    )
    .meta({ since: '0.2.0' }),
  task: taskSchema,
  evaluator: described(EVALUATOR_KINDS)
    .default('auto')
    .describe('What scores the last message.')
    .meta({ earlier: 'answer', alwaysStored: true }),
  code_blocks: oneOf(CODE_BLOCKS, {
    first: 'The first one, as the published extraction.',
    last: 'The last one.',
    all: 'All of them as one program.',
  })
    .default('first')
    .describe('Which of several blocks of a message are its code: of those fenced as Python, else as no language.')
    .meta({ since: '0.2.0', earlier: 'first' }),
  scorer: z
    .strictObject({
      command: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe(
          'The program of `evaluator: command` and its arguments, started in the folder of this file without a shell. It reads one JSON object (`uid`, `question`, `answer`, `text`) and prints a number from 0 to 1.',
        ),
      time_limit: z
        .number()
        .positive()
        .max(600)
        .default(30)
        .describe('Seconds that the program of `evaluator: command` has for one message.'),
      rubric: z
        .string()
        .min(1)
        .max(20_000)
        .optional()
        .describe('What a good message is for `evaluator: judge`, in your words.'),
      judge: z
        .record(z.string(), z.unknown())
        .pipe(rolePolicySchema)
        .refine((one) => one.kind === 'vscode' || (one.kind === 'endpoint' && one.api === 'chat'), {
          error: 'must be an endpoint with api: chat, or a chat model of VS Code',
        })
        .optional()
        .describe('The model that scores with `evaluator: judge`: the keys of a policy with `endpoint` or `vscode`.'),
      labels: pathTo('rows')
        .optional()
        .describe(
          'Messages that you scored, for `evaluator: judge`: one JSON object a line (`question`, `text`, `score` from 0 to 1, and `answer`), relative to this file. The judge is measured on them before the run.',
        ),
    })
    .nullable()
    .default(null)
    .describe(
      'What scores a message with `evaluator: command`, which runs with your rights, in trusted workspaces only, or `evaluator: judge`.',
    )
    .meta({ since: '0.2.0', earlier: null }),
  steps: z.int().min(0).default(36).describe('Training steps; 0 evaluates only.'),
  instances_per_step: positive.default(32).describe('Questions that each training step works on.'),
  dynamic_sampling: z
    .boolean()
    .default(false)
    .describe(
      'Replaces questions of which no message has a credit other than 0 by further ones (DAPO), as far as evaluator calls are left in the step: those that were not made because their result was determined. Nothing is learned from the replaced ones.',
    )
    .meta({ since: '0.2.0', earlier: false }),
  checkpoint_every: positive
    .default(6)
    .describe(
      'Steps between two checkpoints of the optimizer. A crash loses no step, but those since the last checkpoint are executed again.',
    ),
  snapshot_every: positive
    .default(1)
    .describe(
      'Steps between two snapshots whose weights are kept; the last always is. Those between are rebuilt when a replay needs them, from a checkpoint that is kept for each such stretch.',
    ),
  shape: oneOf(['nested', 'spine', 'spine_rho'], {
    nested: 'A tree: every message is continued by as many as `fanout` says.',
    spine:
      'One episode, and alternatives to each of its messages that are continued once; `evaluator_budget` is split evenly over the roles that learn.',
    spine_rho: 'The same, with more alternatives where returns varied more in the step before.',
  })
    .default('nested')
    .describe('How c3 and c3_full_mean spend their evaluator calls. For teams of three and more roles try `spine`.')
    .meta({ since: '0.2.0', earlier: 'nested' }),
  fanout: z
    .array(positive)
    .min(1)
    .default([2, 4])
    .describe(
      'Messages sampled per position of the protocol, by c3 and c3_full_mean with `shape: nested`. Their product may not exceed `evaluator_budget`; the other methods sample as many whole episodes as that pays for.',
    ),
  fanout_unique: z
    .boolean()
    .default(false)
    .describe(
      'Of equal messages that end episodes in one context only the first is evaluated; for each of the others c3 draws another message, until as many are distinct as were planned there, or twice as many were drawn. Needs `shape: nested`, `credit.estimator: loo` and `credit.merge_contexts`.',
    )
    .meta({ since: '0.2.0', earlier: false }),
  evaluator_budget: positive
    .default(8)
    .describe('Evaluator calls per problem and step, in all stages of a step together; the same for all methods.'),
  sampling: z
    .strictObject({
      temperature: z
        .number()
        .positive()
        .max(10)
        .default(1)
        .describe('How far sampling strays from the likeliest token; small values stay close to it.'),
      top_p: z
        .number()
        .positive()
        .max(1)
        .default(1)
        .describe('Samples among the likeliest tokens that together have this probability; 1 among all.'),
      top_k: z.int().min(0).default(0).describe('Samples among this many likeliest tokens; 0 among all.'),
      max_new_tokens: positive
        .default(48)
        .describe('The longest message, in tokens; a role of the protocol may have its own cap.'),
    })
    .prefault({})
    .describe('How messages are sampled, in training and in sampled evaluations.'),
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
          'The memory that a run may use, in GB of 1e9 bytes; null uses what the machine has. On an accelerator, its own memory.',
        ),
      micro_batch_tokens: positive
        .default(2048)
        .describe('Tokens per training micro-batch: fewer take less memory and more time.'),
      recompute: z
        .boolean()
        .default(false)
        .describe(
          'Computes activations again in the backward pass instead of keeping them: less memory, about a third more time.',
        ),
    })
    .prefault({})
    .describe('Limits on the memory of a run.'),
  evaluation: z
    .strictObject({
      instances: z
        .int()
        .min(0)
        .default(512)
        .describe('Held-out questions of each evaluation; 0 leaves evaluation out.'),
      samples: positive
        .max(1000)
        .default(1)
        .describe(
          'Episodes per question of a sampled evaluation. pass@k needs k of them, and every question counts with their mean.',
        ),
      before: z.boolean().default(true).describe('Whether the team is evaluated before it is trained too.'),
      every: z
        .int()
        .min(0)
        .default(0)
        .describe(
          'Steps between two evaluations during training; 0 evaluates only before and after it. Training itself is the same either way.',
        )
        .meta({ since: '0.2.0' }),
      batch: positive.default(256).describe('Episodes that are sampled together: fewer take less memory.'),
    })
    .prefault({})
    .describe('How the team is evaluated, before, during and after training.'),
  output: outputSchema,
  device: z
    .preprocess(
      (value) => (typeof value === 'string' ? { provider: value } : value),
      z.strictObject({
        provider: described(DEVICE_CHOICES).default(DEFAULT_PROVIDER).describe('What the run computes on.'),
        threads: z.int().positive().max(64).default(2).describe('Threads of the CPU.'),
        precision: oneOf(PRECISIONS, {
          float32: 'As they are trained.',
          float16: 'Half the memory; the weights are rounded.',
        })
          .default('float32')
          .describe(
            "The precision of the model's weights while an adapter is trained over them, or nothing is trained.",
          ),
      }),
    )
    .prefault({})
    .meta({ description: 'Where the run computes; `device: webgpu` is short for its provider.', shortFor: 'provider' }),
};

export type RunKeys = z.infer<z.ZodObject<typeof RUN_KEYS>>;
