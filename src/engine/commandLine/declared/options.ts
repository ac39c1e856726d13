/** Options and arguments that several commands share. */

import { SELECTION_KEYS } from '../../../domain/selection.ts';
import { DEFAULT_STORE } from '../../places.ts';
import { joinWithOr } from './declaration.ts';

export const JSON_FLAG = { json: { kind: 'flag', help: 'Prints the result as one JSON document.' } } as const;

export const STORE = {
  store: { kind: 'file', value: 'PATH', fallback: DEFAULT_STORE, help: 'The database that holds the runs.' },
} as const;

export const STORE_AND_JSON = { ...STORE, ...JSON_FLAG } as const;

export const SPENDING = {
  spendTokens: {
    kind: 'whole',
    value: 'N',
    least: 0,
    help: 'Limits the run and its replays to N tokens of servers; overrides the configuration.',
  },
  spendMoney: {
    kind: 'amount',
    value: 'X',
    least: 0,
    help: 'Limits the cost of the run and its replays at servers to X; overrides the configuration.',
  },
} as const;

export const ONLY = {
  only: {
    kind: 'texts',
    value: 'KEY=VALUE',
    help: `Selects some of the episodes, such as level=3. KEY is ${joinWithOr(SELECTION_KEYS)}.`,
  },
} as const;

export const OVERRIDE = {
  override: {
    kind: 'texts',
    value: 'KEY=VALUE',
    help: 'Sets a key of the configuration, such as steps=4 or sampling.temperature=0.8. Several settings may follow.',
  },
} as const;

export const DETACH = {
  detach: { kind: 'flag', help: 'Runs it in the background: closing the terminal does not end it.' },
} as const;

export const TEAM = {
  team: {
    kind: 'file',
    value: 'FILE',
    help: 'A team file, which defines who continues an episode that was recorded elsewhere.',
  },
} as const;

/** The run of a command that uses the newest one by default. */
export const RUN_OR_NEWEST = {
  run: { kind: 'text', value: 'RUN', help: 'The id of a run. Default: the newest one.' },
} as const;

export const MASK_SECRETS = {
  maskSecrets: { kind: 'flag', help: 'Masks texts that look like keys before storing, and prints their number.' },
} as const;

export const RENAME = {
  rename: { kind: 'texts', value: 'OLD=NEW', help: 'Stores the messages of the speaker OLD as those of NEW.' },
} as const;

/** The model of commands that load one. */
export const MODEL = {
  model: {
    kind: 'folder',
    value: 'DIR',
    required: true,
    help: 'The folder of a model, which holds config.json, model.safetensors and tokenizer.json.',
  },
} as const;

export const ADAPTER = {
  adapter: { kind: 'folder', value: 'DIR', help: 'An adapter for the model, in the layout of PEFT.' },
} as const;

export const MESSAGE = { message: { kind: 'row', value: 'MESSAGE', help: 'The number of a message.' } } as const;
