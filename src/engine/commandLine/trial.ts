/** `c3 try`: tests whether a change of a run's team helps, and which role another policy helps most. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeCallProgress } from '../../domain/answer.ts';
import type { Sampling } from '../../domain/message.ts';
import { describeSelection } from '../../domain/selection.ts';
import {
  areTokensKnown,
  computeMeanReturns,
  DECODING,
  describeTrialCosts,
  parsePrices,
  parseDecodingNumber,
  describeDecodingRange,
  NO_CHANGE,
  type PolicyChange,
  type ServerChange,
  type ServerPrices,
  type TeamChange,
  type Trial,
  type TrialCase,
  type TrialProblems,
} from '../../domain/trial.ts';
import { readRegular } from '../../files/regularFile.ts';
import { trimEndpoint } from '../../shared/endpointAddress.ts';
import { C3Error } from '../../shared/errors.ts';
import type { TrialParams } from '../../shared/protocols/engineProtocol.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { readRunProtocol } from '../recipe/recipe.ts';
import type { EngineService } from '../service.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { TRY } from './declared/messages.ts';
import { readSelection } from './onlyFlag.ts';
import { createProgressPrinter, readSpendingOptions, withService } from './support.ts';

/** Maximum bytes of a prompt file. */
const MOST_PROMPT = 2 ** 20;
/** Maximum cases of each kind that are shown. */
const MOST_SHOWN = 5;
/** Maximum characters of a text that are shown. */
const SHOWN = 100;

type Settings = Omit<TrialParams, 'change'>;

export async function tryCommand(given: Given<typeof TRY>, context: CommandContext): Promise<void> {
  const { message, change: changes, eachRole, with: other, budget } = given;
  if (eachRole ? other === null || changes.length > 0 : other !== null || changes.length === 0) {
    throw new C3Error(
      'input',
      'c3 try needs either --change KEY=VALUE, or --each-role with --with SNAPSHOT, a step, the folder of a model or MODEL@ADDRESS of a server.',
    );
  }
  const only = readSelection(given.only);
  const ofRun = (['run', 'lost', 'only'] as const).find((name) => given.named.has(name));
  if (message !== null && ofRun !== undefined) {
    throw new C3Error('input', `c3 try takes either a message or --${ofRun}; give one of the two.`);
  }
  const reading = { folder: context.folder, prices: readPrices(given.prices) };
  const change = await readChange(changes, reading);
  const policy = other === null ? null : readPolicy(other, reading);
  if (given.prices !== null && ![policy, change.policy, ...Object.values(change.roles)].some(isServer)) {
    throw new C3Error('input', '--prices needs a server: MODEL@ADDRESS in --change or --with.');
  }
  await withService(given, context, async (service) => {
    await service.updated(context.signal);
    const run = service.reading((store) =>
      message === null ? (given.run ?? store.runs(0, 1)[0]?.id) : store.messageRun(message),
    );
    if (run === undefined) {
      throw new C3Error('input', `The store ${service.storePath} holds no run; start one with \`c3 run\`.`);
    }
    const problems: TrialProblems = given.lost ? 'lost' : 'all';
    const settings = {
      run,
      budget,
      problems,
      only,
      spending: readSpendingOptions(given),
      ...(message !== null && { message }),
      ...(given.team !== null && { team: resolve(context.folder, given.team) }),
    };
    await (policy === null
      ? tryOne(service, { ...settings, change }, given, context)
      : tryEachRole(service, settings, policy, given, context));
  });
}

async function tryOne(
  service: EngineService,
  request: Settings & { readonly change: TeamChange },
  given: Given<typeof TRY>,
  context: CommandContext,
): Promise<void> {
  const trial = await service.tryChange(request, createTrialControl(context));
  context.print(given.json ? JSON.stringify(trial) : formatTrial(trial).join('\n'));
}

/** Tries the policy in the place of each role. The role that it helps has a fault that no message shows. */
async function tryEachRole(
  service: EngineService,
  settings: Settings,
  policy: PolicyChange,
  given: Given<typeof TRY>,
  context: CommandContext,
): Promise<void> {
  const roles = service.reading((store) => readRunProtocol(store, settings.run)).roles.map(({ name }) => name);
  const trials: { readonly role: string; readonly trial: Trial }[] = [];
  for (const role of roles) {
    context.note(`Trying another policy for the ${role}.`);
    const change = { ...NO_CHANGE, roles: { [role]: policy } };
    trials.push({ role, trial: await service.tryChange({ ...settings, change }, createTrialControl(context)) });
  }
  const ordered = trials.toSorted((a, b) => b.trial.difference.value - a.trial.difference.value);
  const sentence = describeEachRole(ordered);
  context.print(
    given.json
      ? JSON.stringify({ run: settings.run, roles: ordered.map(({ role, trial }) => ({ role, ...trial })), sentence })
      : [sentence, '', ...ordered.map(({ role, trial }) => `  ${role}: ${trial.sentence}`)].join('\n'),
  );
}

/** Names the roles that another policy helps, largest effect first. */
function describeEachRole(trials: readonly { readonly role: string; readonly trial: Trial }[]): string {
  const helped = trials.filter(({ trial }) => trial.difference.low > 0).map(({ role }) => role);
  return helped.length === 0
    ? 'Another policy for one role alone is not known to help.'
    : `Another policy helps most in the place of the ${helped[0] ?? ''}${helped.length > 1 ? `, and helps for the ${helped.slice(1).join(' and the ')}` : ''}.`;
}

const createTrialControl = (context: CommandContext): Parameters<EngineService['tryChange']>[1] => {
  const show = createProgressPrinter(context);
  return {
    signal: context.signal,
    onRemark: context.note,
    onProgress: (calls, budget) =>
      show({ done: calls, total: budget, message: `Trying: ${describeCallProgress(calls, budget)}` }),
  };
};

/** What the values of policies are read with. */
interface Reading {
  readonly folder: string;
  /** Prices of the servers; null if they were not given. */
  readonly prices: ServerPrices | null;
}

const isServer = (policy: PolicyChange | null): boolean => policy !== null && 'endpoint' in policy;

/** @throws C3Error('input') if a text does not have two prices */
function readPrices(text: string | null): ServerPrices | null {
  const prices = text === null ? null : parsePrices(text);
  if (text !== null && prices === null) {
    throw new C3Error(
      'input',
      '--prices needs what a million tokens of prompts and of answers cost, such as 2,8, not ' +
        `${JSON.stringify(toOneLine(text, SHOWN))}.`,
    );
  }
  return prices;
}

/** Reads a policy: MODEL@ADDRESS of a server, the folder of a model or an adapter, or the name of a snapshot. */
function readPolicy(value: string, reading: Reading): PolicyChange {
  const path = resolve(reading.folder, value);
  const folder = existsSync(join(path, 'adapter_config.json')) ? { adapter: path } : { model: path };
  return parseServer(value, reading) ?? (existsSync(path) ? folder : { snapshot: value });
}

/** Returns the server that `MODEL@ADDRESS` names, or null for any other form. */
function parseServer(value: string, { prices }: Reading): ServerChange | null {
  // Names of models may contain @, too.
  const [, model = '', endpoint] = /^(.+)@(https?:\/\/.*)$/isu.exec(value) ?? [];
  return endpoint === undefined
    ? null
    : { endpoint: trimEndpoint(endpoint), model_name: model, ...(prices !== null && { prices }) };
}

/**
 * Reads the value of `snapshot`, `model`, `adapter` or `endpoint`, of the whole team or of a role.
 * @throws C3Error('input') for a wrong server
 */
function readPolicyChange(key: string, value: string, reading: Reading): PolicyChange {
  const kind = key.slice(key.lastIndexOf('.') + 1);
  switch (kind) {
    case 'model':
      return { model: resolve(reading.folder, value) };
    case 'adapter':
      return { adapter: resolve(reading.folder, value) };
    case 'snapshot':
      return { snapshot: value };
  }
  const server = parseServer(value, reading);
  if (server === null) {
    throw new C3Error('input', `--change ${key} needs MODEL@ADDRESS, such as gpt-4.1@https://api.example.com/v1.`);
  }
  return server;
}

/** @throws C3Error('input') for an unknown key, or a value that the key cannot have */
async function readChange(changes: readonly string[], reading: Reading): Promise<TeamChange> {
  const prompts: Record<string, string> = {};
  const sampling: Partial<Record<keyof Sampling, number>> = {};
  const roles: Record<string, PolicyChange> = {};
  let policy: PolicyChange | null = null;
  let team: string | undefined;
  for (const change of changes) {
    const [, key = '', value = ''] = /^([^=]+)=(.+)$/su.exec(change) ?? [];
    const [, role, what] = /^(.+)\.(prompt|snapshot|model|adapter|endpoint)$/u.exec(key) ?? [];
    const decoding = DECODING.find((one) => one.key === key);
    if (role !== undefined && what === 'prompt') {
      const bytes = await readRegular(resolve(reading.folder, value), MOST_PROMPT, 'give the file of a prompt');
      prompts[role] = bytes.toString('utf8').trim();
    } else if (role !== undefined) {
      roles[role] = readPolicyChange(key, value, reading);
    } else if (/^(?:snapshot|model|adapter|endpoint)$/u.test(key)) {
      policy = readPolicyChange(key, value, reading);
    } else if (key === 'team') {
      team = resolve(reading.folder, value);
    } else if (decoding === undefined) {
      throw new C3Error(
        'input',
        `--change ${JSON.stringify(toOneLine(change, SHOWN))} names nothing that can be changed; ` +
          `give ROLE.prompt=FILE, ${DECODING.map((one) => one.key).join('=, ')}=, snapshot=, model=, adapter=, ` +
          'endpoint=, ROLE.snapshot=, ROLE.model=, ROLE.adapter=, ROLE.endpoint= or, for a recorded program, team=.',
      );
    } else {
      const number = parseDecodingNumber(decoding, value);
      if (number === null) {
        throw new C3Error(
          'input',
          `--change ${key} needs ${describeDecodingRange(decoding)}, not ${JSON.stringify(toOneLine(value, SHOWN))}.`,
        );
      }
      sampling[decoding.of] = number;
    }
  }
  return { prompts, sampling, policy, roles, ...(team !== undefined && { team }) };
}

/** Returns the sentence, the cost, and the first cases whose outcome changed. */
export function formatTrial(trial: Trial): string[] {
  const { sentence, cases, contexts, message, only = [], tokens, costs, seconds } = trial;
  const problems = `${contexts} ${contexts === 1 ? 'problem' : 'problems'}${only.length === 0 ? '' : ` (${describeSelection(only)})`}`;
  const [before, after] = [tokens.before, tokens.after].map((number) => number.toLocaleString('en-US'));
  const generated = areTokensKnown(trial) ? ` ${before} tokens without the change and ${after} with it;` : '';
  const place = message === undefined ? problems : `In the context of message ${message}`;
  const means = computeMeanReturns(trial);
  const returns =
    means === null
      ? ''
      : ` mean return ${means.before.toFixed(2)} without the change and ${means.after.toFixed(2)} with it;`;
  const cost = `${place};${returns}${generated} ${seconds.toFixed(0)} s.`;
  const won = cases.filter(isWon);
  const lost = cases.filter((one) => !isWon(one));
  const shown = [...won.slice(0, MOST_SHOWN), ...lost.slice(0, MOST_SHOWN)];
  return [
    sentence,
    cost,
    ...(costs === undefined ? [] : [describeTrialCosts(costs)]),
    ...(shown.length === 0 ? [] : ['', 'Cases that flipped']),
    ...shown.flatMap(formatTrialCase),
    ...(shown.length < cases.length ? [`  and ${cases.length - shown.length} more with --json`] : []),
  ];
}

const isWon = ({ before, after }: TrialCase): boolean => after.return > before.return;

function formatTrialCase(shown: TrialCase): string[] {
  const { question, before, after } = shown;
  const at = after.messages.findIndex(({ text: said }, index) => said !== before.messages[index]?.text);
  const [first, second] = [before.messages[at], after.messages[at]];
  return [
    `  ${isWon(shown) ? 'won' : 'lost'}: ${toOneLine(question, SHOWN)}`,
    `    ${first?.role ?? ''}, without: ${toOneLine(first?.text ?? '', SHOWN)}`,
    `    ${second?.role ?? ''}, with:    ${toOneLine(second?.text ?? '', SHOWN)}`,
  ];
}
