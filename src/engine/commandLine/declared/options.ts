/** Options and arguments that several commands have. */
import { SELECTION_KEYS } from '../../../domain/selection.ts';
import { DEFAULT_STORE } from '../../places.ts';
import { orWords } from './declaration.ts';

export const JSON_FLAG = { json: { kind: 'flag', help: 'Prints the result as one JSON document.' } } as const;

export const STORE = {
  store: { kind: 'file', value: 'PATH', fallback: DEFAULT_STORE, help: 'The database that holds the runs.' },
} as const;

/** Of commands that print one answer from a store. */
export const STORE_AND_JSON = { ...STORE, ...JSON_FLAG } as const;

export const SPENDING = {
  spendTokens: {
    kind: 'whole',
    value: 'N',
    least: 0,
    help: 'Lets the run and its replays ask servers for at most N tokens, whatever its configuration says.',
  },
  spendMoney: {
    kind: 'amount',
    value: 'X',
    least: 0,
    help: 'Lets the run and its replays cost at most X at servers, whatever its configuration says.',
  },
} as const;

export const ONLY = {
  only: {
    kind: 'texts',
    value: 'KEY=VALUE',
    help: `Selects some of the episodes, such as level=3. KEY is ${orWords(SELECTION_KEYS)}.`,
  },
} as const;

export const OVERRIDE = {
  override: {
    kind: 'texts',
    value: 'KEY=VALUE',
    help: 'Sets a key of the configuration, such as steps=4 or sampling.temperature=0.8. Several may follow.',
  },
} as const;

export const DETACH = {
  detach: { kind: 'flag', help: 'Runs it in the background: closing the terminal does not end it.' },
} as const;

export const TEAM = {
  team: {
    kind: 'file',
    value: 'FILE',
    help: 'A team file, which says who answers for a message that was recorded elsewhere.',
  },
} as const;

/** The run of a command that takes the newest one unless it is named. */
export const RUN_OR_NEWEST = {
  run: { kind: 'text', value: 'RUN', help: 'The id of a run. Default: the newest one.' },
} as const;

export const MASK_SECRETS = {
  maskSecrets: { kind: 'flag', help: 'Masks texts that look like keys in what is stored, and says how many.' },
} as const;

export const RENAME = {
  rename: { kind: 'texts', value: 'OLD=NEW', help: 'Stores the messages of the speaker OLD as those of NEW.' },
} as const;

/** The weights of commands that load a model. */
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
