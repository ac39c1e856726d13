/** Declarations of the commands for other programs: recordings, imports, exports and assistants. */

import { TASK_NAMES } from '../../../shared/runNames.ts';
import type { Declaration } from './declaration.ts';
import { ADAPTER, JSON_FLAG, MASK_SECRETS, MESSAGE, RENAME, STORE, STORE_AND_JSON } from './options.ts';

/** Options for the model that is served here. */
export const SERVED = {
  model: { kind: 'folder', value: 'DIR', help: 'Serves the model of a folder.' },
  task: {
    kind: 'choice',
    value: 'NAME',
    choices: TASK_NAMES,
    help: 'Serves the model of the bundled team for a task.',
  },
  name: { kind: 'text', value: 'NAME', help: 'The name of the served model.' },
} as const;

export const RECORD = {
  name: 'record',
  summary: 'Runs your own program, and stores what its agents say.',
  details:
    'The program finds the address of the recorder in OPENAI_BASE_URL and similar variables. Its calls are forwarded ' +
    'to its own server, or to a model that is served here.',
  arguments: {},
  options: {
    upstream: { kind: 'text', value: 'URL', help: 'The server that answers, instead of that in OPENAI_BASE_URL.' },
    ...SERVED,
    answer: {
      kind: 'text',
      value: 'TEXT',
      help: 'The right answer: the last message of an episode must state this number or contain this text.',
    },
    ...MASK_SECRETS,
    ...RENAME,
    ...STORE_AND_JSON,
  },
  rest: { value: 'PROGRAM [ARGUMENT ...]', help: 'The program and its arguments.' },
  examples: [
    ['c3 record -- node team.mjs', 'Records a program that asks its own server.'],
    ['c3 record --task arithmetic --answer 19 -- python team.py', 'Records a program that the bundled model answers.'],
  ],
} as const satisfies Declaration;

export const IMPORT = {
  name: 'import',
  summary: "Stores a log of another program's agents as a run.",
  details:
    'It reads OpenTelemetry, Inspect, LangGraph, LangSmith, Langfuse, conversations, the buckets of the ' +
    'C3 authors, and more. Importing a log twice changes nothing.',
  arguments: { file: { kind: 'file', value: 'FILE', help: 'The path of a log or of a bucket file.' } },
  options: { ...MASK_SECRETS, ...RENAME, ...STORE_AND_JSON },
  examples: [
    ['c3 import trace.json --mask-secrets', 'Stores the episodes of a trace, and masks texts that look like keys.'],
  ],
} as const satisfies Declaration;

export const INFER = {
  name: 'infer',
  summary: 'Prints a team file for a message that was recorded elsewhere.',
  details: 'The file says who speaks next and who sees what. Check and correct it: a log shows one episode ' + 'only.',
  arguments: { ...MESSAGE },
  options: {
    endpoint: { kind: 'text', value: 'URL', help: 'The server that answers for the team.' },
    modelName: { kind: 'text', value: 'NAME', help: 'The name of the model at that server.' },
    ...STORE,
  },
  examples: [['c3 infer 7 --endpoint http://127.0.0.1:8000/v1 --model-name my-model', 'Prints the team of message 7.']],
  onlyReads: () => true,
} as const satisfies Declaration;

export const EXPORT = {
  name: 'export',
  summary: "Writes a run's weights, its buckets, or what it learned from.",
  details:
    'Tuples are the messages that updates learned from, each with its token ids, log-probabilities, advantage and ' +
    'weight, as JSON Lines or Parquet: the ending of the file decides.',
  arguments: {},
  options: {
    run: { kind: 'text', value: 'RUN', required: true, help: 'The id of a run.' },
    format: {
      kind: 'choice',
      choices: ['buckets', 'tuples', 'adapter', 'model'],
      required: true,
      help: 'adapter writes folders of PEFT, model writes folders of Hugging Face.',
    },
    out: { kind: 'file', value: 'PATH', required: true, help: 'A path that does not exist yet.' },
    step: {
      kind: 'whole',
      value: 'N',
      least: 0,
      help: 'Writes the weights or the tuples of step N. Default: the last weights, all tuples.',
    },
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 export --run c3-0-1a2b3c4d --format adapter --out adapters', 'Writes the trained adapters.'],
    ['c3 export --run c3-0-1a2b3c4d --format tuples --out tuples.parquet', 'Writes what the updates learned from.'],
  ],
} as const satisfies Declaration;

export const SERVE = {
  name: 'serve',
  summary: 'Serves a model at an OpenAI-compatible address on this machine.',
  details:
    'It serves the bundled team unless a model or a task is given. Answers are reproducible for a seed. It ' +
    'prints the address and a bearer token; a token of your own is read from the variable C3_SERVE_TOKEN.',
  arguments: {},
  options: {
    ...SERVED,
    ...ADAPTER,
    port: { kind: 'whole', value: 'N', least: 0, fallback: 0, help: 'The port of the address; 0 selects a free one.' },
    ...JSON_FLAG,
  },
  examples: [['c3 serve --port 8123', 'Serves the bundled model at http://127.0.0.1:8123/v1.']],
} as const satisfies Declaration;

export const MCP = {
  name: 'mcp',
  summary: 'Serves the store to an assistant (Model Context Protocol).',
  details: 'It communicates over standard input and output.',
  arguments: {},
  options: { ...STORE },
  examples: [['c3 mcp --store .c3/c3.sqlite', 'The command that an assistant starts.']],
} as const satisfies Declaration;
