/**
 * The keys of the published MAGRPO training scripts: all names that their README and code have used
 * since the first version, with the defaults of the code that the README describes. Converter,
 * completion, hovers and faults all read this table.
 */

import { z } from 'zod';
import { EXTERNAL_KEYS } from '../../keys/externalKeys.ts';
import { enumKey, positive } from '../../keys/keyKinds.ts';

/** The two spellings of a joint mode. */
export const JOINT_MODES = { align: 'align', aligned: 'align', cross: 'cross', crossed: 'cross' } as const;

/** The `top_k` that the scripts use if a file gives none. */
export const PUBLISHED_TOP_K = 50;

const text = z.string().max(500);
const ignored = (what: string) => z.unknown().optional().describe(`Read and ignored: ${what}`);
const probability = z.number().positive().max(1);
/** null samples among all tokens, as in the scripts. */
const topK = (words: string) => z.int().min(0).nullable().optional().describe(words);
const temperature = z.number().positive().max(10);

const model = z.strictObject({
  name: text
    .min(1)
    .default('Qwen/Qwen2.5-Coder-3B')
    .describe(
      'A model folder relative to this file. Nothing is downloaded: if there is no such folder, the bundled model is used, and a note says so.',
    ),
  type: ignored('the folder says which architecture it holds.'),
  temperature: temperature.default(0.7).describe('The temperature if the section of the trainer has none.'),
  top_p: probability.default(0.9).describe('The `top_p` if the section of the trainer has none.'),
  top_k: topK('The `top_k` if the section of the trainer has none.'),
  special_tokens: ignored('the vocabulary is that of the model folder.'),
  max_length: ignored('a context is never cut; the positions of the model bound it.'),
  tokenizer_kwargs: ignored('the tokenizer is that of the model folder.'),
  model_kwargs: ignored('no remote code is ever run, and `device.precision` says how weights are held.'),
  torch_dtype: ignored('`device.precision` says how weights are held.'),
});

const dataset = z.strictObject({
  name: text
    .min(1)
    .optional()
    .describe(
      'A file of problems (.jsonl or .json) relative to this file, or the name of a published data set. Nothing is downloaded: for a name, the bundled code task is used, and a note says so.',
    ),
  type: enumKey(['humaneval', 'coophumaneval', 'mbpp'], {
    humaneval: 'OpenAI HumanEval: 164 problems.',
    coophumaneval: 'CoopHumanEval: 82 problems that divide into a helper and a main function.',
    mbpp: 'MBPP in the form of HumanEval.',
  })
    .optional()
    .describe('The data set. Its slices are used if none are given.'),
  train_split: text.optional().describe('Problems to train on, such as `test[16:]`.'),
  eval_split: text.optional().describe('Problems to evaluate on, such as `test[:16]`.'),
  private: ignored('nothing is downloaded.'),
});

const output = z.strictObject({
  base_dir: ignored('runs are stored in the database that --store names.'),
  save_model: z
    .boolean()
    .optional()
    .describe('Writes the trained weights of all agents into a folder when the run ends. Default: false.'),
  save_final_model: z.boolean().optional().describe("The code's name of `save_model`."),
  save_path: text
    .min(1)
    .nullable()
    .optional()
    .describe('The folder of `save_model`, relative to this file; by default `output/` with the id of the run.'),
  verbose: z
    .boolean()
    .default(false)
    .describe(
      'Prints the messages and rewards of each step. The README of the scripts says false, their code true; every published file says false.',
    ),
});

const external = z.strictObject({
  ...EXTERNAL_KEYS,
  sandbox_slice: z
    .union([z.int(), z.string().max(100), z.null()])
    .default(1)
    .describe(
      'Which assertions the feedback executes: the first n, the last n for -n, all for 0, null and `all`. Rewards always use all of them.',
    ),
  expert_edits_model: text
    .min(1)
    .optional()
    .describe(
      'The expert of `mode: expert_edits`. The rules that come with the product propose the edits whatever this key says, because no model is asked. A note says so.',
    ),
  expert_model: text.min(1).optional().describe("The code's name of `expert_edits_model`."),
  original_prompt: z.boolean().optional().describe('The first name of `previous_prompts`.'),
  previous_response: z.boolean().optional().describe('The first name of `previous_responses`.'),
  external_prompt_passthrough: ignored('what agents read between turns is never wrapped again.'),
});

/** @param agents the default number of agents */
const trainer = (agents: 1 | 2, shift: number) =>
  z.strictObject({
    num_agents: positive
      .max(2)
      .default(agents)
      .describe(
        'Agents of the team: 2, a helper and a main function, or 1, which writes both. The scripts have no other team for code.',
      ),
    num_turns: positive
      .max(64)
      .default(1)
      .describe('Turns, in training and evaluation: the depth of the rollout tree.'),
    num_generations: z
      .int()
      .min(2, 'must be at least 2: one message has no siblings to be compared with')
      .max(64)
      .default(4)
      .describe('Messages of each agent at each node of the tree.'),
    joint_mode: enumKey(['align', 'aligned', 'cross', 'crossed'], {
      align: 'The j-th messages of all agents together.',
      aligned: "The code's name of `align`.",
      cross: 'Every combination of messages.',
      crossed: "The code's name of `cross`.",
    })
      .default('align')
      .describe('Which messages of a node are executed together.'),
    termination_threshold: z
      .number()
      .nullable()
      .default(null)
      .describe('A node whose mean processed reward is above this has no further turn.'),
    early_termination_threshold: z
      .number()
      .nullable()
      .optional()
      .describe('The first and the newest name of `termination_threshold`.'),
    early_termination_weight: ignored('a stopped node is a leaf.'),
    turn_gradient_weights: ignored('`discount` says what turns weigh.'),
    handoff: ignored('every joint action is continued.'),
    discount: z
      .number()
      .positive()
      .max(1)
      .default(0.9)
      .describe('A reward of the next turn counts this much in the turn before it.'),
    reward_shift: z
      .number()
      .nullable()
      .default(shift)
      .describe('Added to every reward, after it is scaled. null adds nothing.'),
    temperature: temperature.optional().describe('Sampling temperature; by default that of section model.'),
    top_p: probability.optional().describe('Samples among the likeliest tokens that together have this probability.'),
    max_new_tokens: positive.default(256).describe('The longest message, in tokens.'),
    learning_rate: z.number().positive().default(2e-5).describe('The learning rate of AdamW, constant.'),
    top_k: topK('Samples among this many likeliest tokens; null among all.'),
    agent_learning_rate: z.number().positive().optional().describe('The newest name of `learning_rate`.'),
    num_train_epochs: positive
      .max(100_000)
      .optional()
      .describe('Passes over the problems to train on: by default 10, and 7 with several turns.'),
    per_device_train_batch_size: z
      .literal(1, 'must be 1, as in the scripts: one problem is one step')
      .default(1)
      .describe('Problems of a step: 1.'),
    train_batch_size: ignored('one problem is one step.'),
    rollout_buffer_size: ignored('each step learns from its own messages.'),
    advantage_normalization: ignored('`credit.group_normalise` scales credit, within a group.'),
    advantage_mode: ignored('credit is against the mean of the node.'),
    parallel_training: ignored('all agents are trained in one process.'),
    agent_devices: ignored('`device` says where a run computes.'),
    expert_model: ignored('section external names the expert.'),
    eval_interval: ignored('`evaluation` says when the team is evaluated.'),
    eval_num_samples: ignored('`evaluation.instances` is the size of eval_split.'),
    eval_batch_size: ignored('batches are as large as memory allows.'),
    logging_steps: ignored('every step is stored.'),
    save_epochs: ignored('`save_steps` says when checkpoints are kept.'),
    save_steps: positive.optional().describe('Steps between two checkpoints.'),
    cross_reduce: enumKey(['sum', 'mean'], {
      sum: 'As in the scripts: the sum over the combinations.',
      mean: 'Their mean: the learning rate means the same as with align.',
    })
      .default('sum')
      .describe(
        'How the returns of a message with `joint_mode: cross` are put together. The scripts have no such key.',
      ),
  });

/** The sections that a file of the scripts may have. */
export const PUBLISHED_SECTIONS = {
  model,
  agent_model: model,
  agents: z.unknown(),
  critic_model: z.unknown(),
  critics: z.unknown(),
  tokenizer: z.unknown(),
  dataset,
  output,
  external,
  magrpo: trainer(2, -4),
  grpo: trainer(1, -2.1),
  reward_processor: z.strictObject({
    enabled: z.boolean().default(false).describe('true scales rewards.'),
    scale_factor: z.number().default(1).describe('The factor, applied before `reward_shift`.'),
    shift: z.number().nullable().optional().describe('The newest name of `reward_shift`.'),
  }),
  wandb: z.record(z.string(), z.unknown()),
} as const;

const WORDS = {
  model: 'The model of the agents.',
  agent_model: 'The newest name of section model.',
  agents: 'Read and ignored: the roles of a team share one model, or `policies` names others.',
  critic_model: 'Read and ignored: credit needs no critic.',
  critics: 'Read and ignored: credit needs no critic.',
  tokenizer: 'Read and ignored: the tokenizer is that of the model folder.',
  dataset: 'The problems.',
  output: 'What is written besides the store.',
  external: 'What the agents read between two turns, and what they remember.',
  magrpo: 'The trainer of two agents (MAGRPO).',
  grpo: 'The trainer of one agent (GRPO).',
  reward_processor: 'How rewards are scaled.',
  wandb: 'Read and ignored: nothing leaves this machine. The dashboard shows the run.',
} as const satisfies Readonly<Record<keyof typeof PUBLISHED_SECTIONS, string>>;

/** A file of the scripts; every section is optional. */
export const publishedSchema = z
  .strictObject({
    model: model.prefault({}).describe(WORDS.model),
    agent_model: model.optional().describe(WORDS.agent_model),
    agents: z.unknown().optional().describe(WORDS.agents),
    critic_model: z.unknown().optional().describe(WORDS.critic_model),
    critics: z.unknown().optional().describe(WORDS.critics),
    tokenizer: z.unknown().optional().describe(WORDS.tokenizer),
    dataset: dataset.prefault({}).describe(WORDS.dataset),
    output: output.prefault({}).describe(WORDS.output),
    external: external.prefault({}).describe(WORDS.external),
    magrpo: PUBLISHED_SECTIONS.magrpo.optional().describe(WORDS.magrpo),
    grpo: PUBLISHED_SECTIONS.grpo.optional().describe(WORDS.grpo),
    reward_processor: PUBLISHED_SECTIONS.reward_processor.prefault({}).describe(WORDS.reward_processor),
    wandb: PUBLISHED_SECTIONS.wandb.optional().describe(WORDS.wandb),
  })
  .describe('A file of the published MAGRPO scripts.');

export type PublishedSection = keyof typeof PUBLISHED_SECTIONS;
export type PublishedFile = z.infer<typeof publishedSchema>;

/** Returns true if a top-level key is a section of the scripts. */
export const isPublishedSection = (key: string): key is PublishedSection => Object.hasOwn(PUBLISHED_SECTIONS, key);
