/** Asks for the role of a team to change and for the change. A prompt is edited in its own tab. */

import { window, type QuickPickItem } from 'vscode';
import type { Sampling } from '../../domain/message.ts';
import {
  DECODING,
  parseDecodingNumber,
  parsePrices,
  describeDecodingRange,
  NO_CHANGE,
  type PolicyChange,
  type ServerChange,
  type TeamChange,
} from '../../domain/trial.ts';
import { trimEndpoint } from '../../shared/endpointAddress.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { withoutIcons } from '../common/plainText.ts';
import { findModelNameFault, findPricesFault, findServerAddressFault, findSnapshotFault } from './trialFaults.ts';

export interface ChangeQuestions {
  /** The roles of the team, in order. */
  readonly roles: readonly { readonly name: string; readonly prompt: string }[];
  /** The sampling settings of the run. */
  readonly sampling: Partial<Sampling>;
  readonly steps: number;
  /** Hashes of the run's snapshots. */
  readonly snapshots: readonly string[];
  readonly askForModel: () => Promise<string | undefined>;
  readonly askForAdapter: () => Promise<string | undefined>;
  /** Asks for the team file of another program; absent for a run with its own team. */
  readonly askForProgram?: () => Promise<string | undefined>;
}

interface RoleItem extends QuickPickItem {
  /** The role, or null for the whole team. */
  readonly role: string | null;
}

interface WhatItem extends QuickPickItem {
  readonly what: 'program' | 'prompt' | 'snapshot' | 'model' | 'adapter' | 'server' | (typeof DECODING)[number];
}

/** Maximum length of a prompt beside its role, in characters. */
const SHOWN = 80;
/** The user may look something up meanwhile, and a panel may take the focus late. */
const ignoreFocusOut = true;
const formatStepTitle = (step: number, of = 3): string => `Try a change (${step} of ${of})`;

/**
 * Asks for a change. Returns the change, the role whose prompt is to be edited, or undefined if the
 * user canceled.
 * @param named the role; if undefined, the user is asked
 */
export async function askForChange(
  questions: ChangeQuestions,
  named: string | undefined,
): Promise<{ readonly change: TeamChange } | { readonly promptOf: string } | undefined> {
  const role = questions.roles.some(({ name }) => name === named) ? named : await askForRole(questions);
  if (role === undefined) {
    return undefined;
  }
  const what = await askForWhat(questions, role);
  switch (what) {
    case undefined:
      return undefined;
    case 'program': {
      const team = await questions.askForProgram?.();
      return team === undefined ? undefined : { change: { ...NO_CHANGE, team } };
    }
    case 'prompt':
      return role === null ? undefined : { promptOf: role };
    case 'snapshot': {
      const snapshot = await askForSnapshot(questions);
      return snapshot === undefined ? undefined : { change: createPolicyChange(role, { snapshot }) };
    }
    case 'model': {
      const model = await questions.askForModel();
      return model === undefined ? undefined : { change: createPolicyChange(role, { model }) };
    }
    case 'adapter': {
      const adapter = await questions.askForAdapter();
      return adapter === undefined ? undefined : { change: createPolicyChange(role, { adapter }) };
    }
    case 'server': {
      const server = await askForServer();
      return server === undefined ? undefined : { change: createPolicyChange(role, server) };
    }
    default: {
      const value = await askForNumber(what, questions.sampling[what.of]);
      return value === undefined ? undefined : { change: { ...NO_CHANGE, sampling: { [what.of]: value } } };
    }
  }
}

const createPolicyChange = (role: string | null, policy: PolicyChange): TeamChange => ({
  ...NO_CHANGE,
  ...(role === null ? { policy } : { roles: { [role]: policy } }),
});

async function askForRole({ roles, askForProgram }: ChangeQuestions): Promise<string | null | undefined> {
  const items: RoleItem[] = [
    ...roles.map(({ name, prompt }): RoleItem => ({
      label: withoutIcons(name),
      description: withoutIcons(toOneLine(prompt, SHOWN)),
      role: name,
    })),
    {
      label: 'The whole team',
      description:
        askForProgram === undefined
          ? 'temperature and the rest of the decoding, snapshot, model, adapter, server'
          : 'another program, temperature and the rest of the decoding, model, adapter, server',
      role: null,
    },
  ];
  const chosen = await window.showQuickPick(items, {
    title: formatStepTitle(1),
    placeHolder: 'Which role is changed?',
    ignoreFocusOut,
  });
  return chosen?.role;
}

async function askForWhat(
  { sampling, askForProgram }: ChangeQuestions,
  role: string | null,
): Promise<WhatItem['what'] | undefined> {
  const whose = role === null ? 'for the whole team' : `for ${withoutIcons(role)} alone`;
  const policies: WhatItem[] = [
    ...(askForProgram === undefined
      ? [{ label: 'Snapshot', description: `another step of the run answers ${whose}`, what: 'snapshot' } as const]
      : []),
    { label: 'Model', description: `another model folder answers ${whose}`, what: 'model' },
    { label: 'Adapter', description: `an adapter of the run's model answers ${whose}`, what: 'adapter' },
    { label: 'Server', description: `a model of an OpenAI-compatible server answers ${whose}`, what: 'server' },
  ];
  const items: WhatItem[] =
    role === null
      ? [
          ...(askForProgram === undefined
            ? []
            : [{ label: 'Program', description: 'a team file with another version of it', what: 'program' } as const]),
          ...DECODING.map((decoding): WhatItem => ({
            label: LABELS[decoding.key],
            description: `${decoding.key}, now ${sampling[decoding.of] ?? 'unknown'}`,
            what: decoding,
          })),
          ...policies,
        ]
      : [{ label: 'Prompt', description: 'opens in an editor tab', what: 'prompt' }, ...policies];
  const chosen = await window.showQuickPick(items, {
    title: formatStepTitle(2),
    placeHolder: `What is changed ${whose}?`,
    ignoreFocusOut,
  });
  return chosen?.what;
}

const LABELS: Readonly<Record<(typeof DECODING)[number]['key'], string>> = {
  temperature: 'Temperature',
  top_p: 'Top p',
  top_k: 'Top k',
  max_new_tokens: 'Longest message',
};

async function askForSnapshot({ steps, snapshots }: ChangeQuestions): Promise<string | undefined> {
  const given = await window.showInputBox({
    title: formatStepTitle(3),
    prompt: `A step from 0 to ${steps}, or the first digits of a snapshot`,
    validateInput: (text) => findSnapshotFault(text, steps, snapshots),
    ignoreFocusOut,
  });
  return given?.trim();
}

async function askForServer(): Promise<ServerChange | undefined> {
  const address = await window.showInputBox({
    title: formatStepTitle(3, 5),
    prompt: 'The base address of the server. Its key is set with C3: Set endpoint key.',
    placeHolder: 'https://api.example.com/v1',
    validateInput: findServerAddressFault,
    ignoreFocusOut,
  });
  const model =
    address === undefined
      ? undefined
      : await window.showInputBox({
          title: formatStepTitle(4, 5),
          prompt: 'The name of the model on the server',
          validateInput: findModelNameFault,
          ignoreFocusOut,
        });
  const priced =
    model === undefined
      ? undefined
      : await window.showInputBox({
          title: formatStepTitle(5, 5),
          prompt:
            'What a million tokens of prompts and of answers cost. Leave it empty for the prices in the ' +
            'configuration of the run, or if they are not known.',
          placeHolder: '2, 8',
          validateInput: findPricesFault,
          ignoreFocusOut,
        });
  if (address === undefined || model === undefined || priced === undefined) {
    return undefined;
  }
  const prices = parsePrices(priced);
  return { endpoint: trimEndpoint(address), model_name: model.trim(), ...(prices !== null && { prices }) };
}

async function askForNumber(decoding: (typeof DECODING)[number], now: number | undefined): Promise<number | undefined> {
  const given = await window.showInputBox({
    title: formatStepTitle(3),
    prompt: `${LABELS[decoding.key]} (${decoding.key}): ${describeDecodingRange(decoding)}`,
    ...(now === undefined ? {} : { value: String(now) }),
    validateInput: (text) => findNumberFault(decoding, text, now),
    ignoreFocusOut,
  });
  return given === undefined ? undefined : (parseDecodingNumber(decoding, given) ?? undefined);
}

function findNumberFault(decoding: (typeof DECODING)[number], text: string, now: number | undefined): string | null {
  const value = parseDecodingNumber(decoding, text);
  if (value === null) {
    return `${decoding.key} is ${describeDecodingRange(decoding)}.`;
  }
  return value === now ? `The run has ${now} already.` : null;
}
