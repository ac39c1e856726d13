/** `c3 blame`: finds which message lost an episode, and what loses the episodes of a run. */

import { resolve } from 'node:path';
import {
  BLAME_BUDGET,
  describeCallProgress,
  formatChance,
  divisionTitle,
  describeReadEpisodes,
  RUN_BLAME_BUDGET,
  formatLossShare,
  type Blame,
  type LossDivision,
  type LossPart,
  type RunBlame,
} from '../../domain/answer.ts';
import { C3Error } from '../../shared/errors.ts';
import type { BlameParams } from '../../shared/protocols/engineProtocol.ts';
import { formatPoints } from '../../shared/text/figures.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { showHidden } from '../../shared/text/visible.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { BLAME } from './declared/messages.ts';
import { readSelection } from './onlyFlag.ts';
import { createProgressPrinter, readSpendingOptions, withService } from './support.ts';

export async function blame(given: Given<typeof BLAME>, context: CommandContext): Promise<void> {
  const { episode } = given;
  if (episode === null) {
    await blameRun(given, context);
    return;
  }
  const ofRun = (['only', 'run', 'by'] as const).find((name) => given.named.has(name));
  if (ofRun !== undefined) {
    throw new C3Error('input', `c3 blame takes either an episode or --${ofRun}; give one of the two.`);
  }
  await blameEpisode(episode, given, context);
}

async function blameEpisode(message: number, given: Given<typeof BLAME>, context: CommandContext): Promise<void> {
  const { print, note, signal } = context;
  const budget = given.budget ?? BLAME_BUDGET.usual;
  const asked = readTeamOptions(given, context);
  const show = createSpendingPrinter(context, budget);
  await withService(given, context, async (service) => {
    await service.updated(signal);
    const found = await service.blame(
      { message, budget, ...asked },
      { signal, onProgress: ({ evaluatorCalls }) => show(evaluatorCalls), onRemark: note },
    );
    print(given.json ? JSON.stringify(toBlameDocument(found)) : formatBlame(found).join('\n'));
  });
}

/** Returns the team that continues recorded episodes, and its spending limit. */
function readTeamOptions(
  given: Given<typeof BLAME>,
  { folder }: CommandContext,
): Pick<BlameParams, 'team' | 'spending'> {
  const { team } = given;
  return { spending: readSpendingOptions(given), ...(team !== null && { team: resolve(folder, team) }) };
}

async function blameRun(given: Given<typeof BLAME>, context: CommandContext): Promise<void> {
  const { print, note, signal } = context;
  const budget = given.budget ?? RUN_BLAME_BUDGET.usual;
  const only = readSelection(given.only);
  const asked = readTeamOptions(given, context);
  await withService(given, context, async (service) => {
    await service.updated(signal);
    const run = given.run ?? service.reading((store) => store.runs(0, 1))[0]?.id;
    if (run === undefined) {
      throw new C3Error('input', `The store ${service.storePath} holds no run; start one with \`c3 run\`.`);
    }
    const found = await service.blameRun(
      { run, budget, only, ...asked },
      { signal, onProgress: createSpendingPrinter(context, budget), onRemark: note },
    );
    print(given.json ? JSON.stringify(found) : formatRunBlame(found, given.by).join('\n'));
  });
}

/** Shows the spent part of the budget. */
function createSpendingPrinter(context: CommandContext, budget: number): (calls: number) => void {
  const show = createProgressPrinter(context);
  return (calls) => show({ done: calls, total: budget, message: `Searching: ${describeCallProgress(calls, budget)}` });
}

/** Returns the JSON document: the keys of the contract, and further keys. */
const toBlameDocument = ({ curve, ...found }: Blame): object => ({
  ...found,
  curve: curve.map(({ message, role, value, low, high, n, drop }) => ({ message, role, value, low, high, n, drop })),
});

/** Returns the sentence, then a line for each point of the curve. */
function formatBlame({ sentence, curve, remedy, most }: Blame): string[] {
  const width = Math.max(...curve.map(({ role }) => (role ?? 'at the start').length));
  const points = curve.map((point) => {
    const { role, message, n, drop } = point;
    const change =
      drop === null || (drop.n === 0 && n === 0)
        ? ''
        : `, ${formatPoints(drop.value, most)} points by message ${String(message)}`;
    const known = n === 0 && message === null ? 'not measured' : formatChance(point, most);
    return `  ${(role ?? 'at the start').padEnd(width)}  ${known}${n === 0 ? '' : `, n = ${n}`}${change}`;
  });
  const instead =
    remedy === null
      ? []
      : [
          `Said instead ${remedy.said} of ${remedy.of} times, for ${formatChance({ ...remedy, low: 0, high: 0, n: 0 }, most)}:`,
          `  ${showHidden(remedy.text)}`,
        ];
  return [sentence, '', 'Chance of success after each message', ...points, ...instead];
}

/** Maximum characters of a question that are shown. */
const SHOWN = 60;

/**
 * Returns the sentence, the losses of each role, and the clearest cases.
 * @param by property that divides the losses in a second table
 */
export function formatRunBlame(found: RunBlame, by: LossDivision['by'] | null = null): string[] {
  const { sentence, lost, roles, cases } = found;
  if (lost === 0) {
    return [sentence];
  }
  return [
    sentence,
    ...(roles.length === 0
      ? []
      : [
          '',
          'Share of what was within reach, and episodes, by role',
          ...formatParts(roles.map(({ role: name, ...part }) => ({ name, ...part }))),
        ]),
    ...(by === null ? [] : ['', ...formatDivision(found, by)]),
    '',
    describeReadEpisodes(found),
    ...(cases.length === 0 ? [] : ['', 'Clearest cases']),
    ...cases.flatMap(({ question, sentence: said, message }) => [
      `  message ${String(message)}: ${said}`,
      `    ${toOneLine(question, SHOWN)}`,
    ]),
  ];
}

/** Reasons why losses are not divided by a property although the shares of roles are known. */
const UNDIVIDED_REASONS: Readonly<Record<LossDivision['by'], string>> = {
  turn: 'No role said more than one message in an episode, so turns are the same as roles.',
  class:
    'All problems that were read have the same class, or none. Training classifies its own problems; c3 diagnose --sample classifies those of the evaluation.',
  label: 'All messages that were read have the same label, or none. c3 label and the failure taxonomy assign labels.',
  level: 'All problems that were read have the same level, or none.',
  source: 'All problems that were read have the same source, or none.',
};

/** Returns the losses by a property other than the role, or the reason why there is no such division. */
function formatDivision({ roles, divisions = [] }: RunBlame, by: LossDivision['by']): string[] {
  const division = divisions.find((one) => one.by === by);
  if (division !== undefined) {
    return [divisionTitle(division), ...formatParts(division.parts)];
  }
  if (roles.length === 0) {
    return [`Shares by ${by} are not known either.`];
  }
  return [UNDIVIDED_REASONS[by]];
}

/** Returns a line for each part: its share, and the number of episodes that it lost alone. */
function formatParts(parts: readonly LossPart[]): string[] {
  const rows = parts.map(({ name, share }) => [showHidden(name), formatLossShare(share)] as const);
  const [first, second] = [0, 1].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0), 'role'.length));
  return rows.map(
    ([name, share], at) =>
      `  ${name.padEnd(first ?? 0)}  ${share.padEnd(second ?? 0)}  lost ${String(parts[at]?.episodes)} alone`,
  );
}
