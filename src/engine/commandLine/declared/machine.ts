/** Declarations of the commands that examine models and this machine. */

import { DEVICE_REQUESTS } from '../../../shared/devices.ts';
import { SUITE_NAMES } from '../../benchSuites.ts';
import type { Declaration } from './declaration.ts';
import { JSON_FLAG, STORE_AND_JSON } from './options.ts';

export const MODEL_FOLDER = {
  name: 'model',
  summary: 'Describes a model folder, and tests it.',
  arguments: {
    folder: {
      kind: 'folder',
      value: 'FOLDER',
      help: 'A folder that holds config.json, model.safetensors and tokenizer.json.',
    },
  },
  options: { test: { kind: 'flag', help: 'Also loads the model and tests it.' }, ...JSON_FLAG },
  examples: [['c3 model my-model --test', 'Describes a model, and tests it.']],
} as const satisfies Declaration;

export const DOCTOR = {
  name: 'doctor',
  summary: 'Examines devices, versions and the store.',
  arguments: {},
  options: {
    all: { kind: 'flag', help: 'Also checks the hash of every row of the store.' },
    copy: { kind: 'file', value: 'FILE', help: 'Copies the intact rows of a damaged store to a new one.' },
    ...STORE_AND_JSON,
  },
  examples: [['c3 doctor --all', 'Examines this machine and every row of the store.']],
} as const satisfies Declaration;

export const BENCH = {
  name: 'bench',
  summary: 'Measures this machine, and the methods on it.',
  arguments: {
    suite: {
      kind: 'text',
      value: 'SUITE',
      optional: true,
      suggests: SUITE_NAMES,
      help: `The suite: ${SUITE_NAMES.join(', ')}.`,
    },
  },
  options: {
    quick: { kind: 'flag', help: 'Measures for a shorter time, less exactly.' },
    config: { kind: 'file', value: 'FILE', help: 'Measures your own team or model, if the suite measures one.' },
    device: {
      kind: 'choice',
      value: 'NAME',
      choices: DEVICE_REQUESTS,
      help: 'With the suite model: the device to compute on.',
    },
    out: { kind: 'folder', value: 'DIR', help: 'Keeps the runs in this folder, if the suite keeps any.' },
    continue: {
      kind: 'file',
      value: 'FILE',
      help: 'With the suite paper-table: continues after the runs of this file.',
    },
    ...JSON_FLAG,
  },
  examples: [['c3 bench first-run --quick', 'Measures how long the first run takes.']],
} as const satisfies Declaration;

export const COMPLETION = {
  name: 'completion',
  summary: 'Prints a completion script for your shell.',
  arguments: { shell: { kind: 'choice', choices: ['bash', 'zsh', 'fish'], help: 'The shell: bash, zsh or fish.' } },
  options: {},
  examples: [
    ['eval "$(c3 completion bash)"', 'Turns completion on, in ~/.bashrc.'],
    ['eval "$(c3 completion zsh)"', 'Turns completion on, in ~/.zshrc after compinit.'],
    ['c3 completion fish | source', 'Turns completion on, in ~/.config/fish/config.fish.'],
  ],
  onlyReads: () => true,
} as const satisfies Declaration;
