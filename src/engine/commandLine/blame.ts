/** `c3 blame`: which message lost an episode, and what loses the episodes of a run. */
import { resolve } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import {
  BLAME_BUDGET,
  callsWords,
  chanceWords,
  divisionTitle,
  foundWords,
  LOSS_DIVISIONS,
  RUN_BLAME_BUDGET,
  shareWords,
  type Blame,
  type LossDivision,
  type LossPart,
  type RunBlame,
} from '../../domain/answer.ts';
import type { BlameParams } from '../../shared/protocols/engineProtocol.ts';
import { signed } from '../../shared/text/figures.ts';
import { visible } from '../../shared/text/visible.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { messageNumber, readArguments, text, texts, whole, type ParsedArguments } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { ONLY, readSelection } from './onlyFlag.ts';
import { JSON_FLAG, SPENDING, spendingOf, STORE, withService } from './support.ts';

/** What is said of a run alone. */
const OF_RUN = { ...ONLY, run: { type: 'string' }, by: { type: 'string' } } as const;

export async function blame(args: readonly string[], context: CommandContext): Promise<void> {
  const options = {
    ...STORE,
    ...JSON_FLAG,
    ...SPENDING,
    ...OF_RUN,
    team: { type: 'string' },
    budget: { type: 'string' },
  } as const;
  const parsed = readArguments('blame', args, options, 1);
  if (parsed.positionals.length === 0) {
    await blameRun(parsed, context);
    return;
  }
  for (const name of Object.keys(OF_RUN)) {
    if (parsed.values[name] !== undefined) {
      throw new C3Error('input', `c3 blame takes either an episode or --${name}; give one of the two.`);
    }
  }
  await blameEpisode(parsed, context);
}

async function blameEpisode(parsed: ParsedArguments, context: CommandContext): Promise<void> {
  const { print, note, signal } = context;
  const message = messageNumber('blame', parsed);
  const budget = whole(parsed, 'budget', BLAME_BUDGET.least, BLAME_BUDGET.usual);
  const asked = askedTeam(parsed, context);
  await withService(parsed, context, async (service) => {
    await service.updated(signal);
    const found = await service.blame(
      { message, budget, ...asked },
      {
        signal,
        onProgress: ({ evaluatorCalls }) => {
          showSpent(context, evaluatorCalls, budget);
        },
        onRemark: note,
      },
    );
    print(parsed.values['json'] === true ? JSON.stringify(documentOf(found)) : wordsOf(found).join('\n'));
  });
}

/** Who goes on with what was recorded elsewhere, and what that may cost. */
function askedTeam(parsed: ParsedArguments, { folder }: CommandContext): Pick<BlameParams, 'team' | 'spending'> {
  const team = text(parsed, 'team');
  return { spending: spendingOf(parsed), ...(team !== null && { team: resolve(folder, team) }) };
}

async function blameRun(parsed: ParsedArguments, context: CommandContext): Promise<void> {
  const { print, note, signal } = context;
  const budget = whole(parsed, 'budget', RUN_BLAME_BUDGET.least, RUN_BLAME_BUDGET.usual);
  const by = readDivision(parsed);
  const only = readSelection(texts(parsed, 'only'));
  const asked = askedTeam(parsed, context);
  await withService(parsed, context, async (service) => {
    await service.updated(signal);
    const run = text(parsed, 'run') ?? service.reading((store) => store.runs(0, 1))[0]?.id;
    if (run === undefined) {
      throw new C3Error('input', `The store ${service.storePath} holds no run; start one with \`c3 run\`.`);
    }
    const found = await service.blameRun(
      { run, budget, only, ...asked },
      {
        signal,
        onProgress: (calls) => {
          showSpent(context, calls, budget);
        },
        onRemark: note,
      },
    );
    print(parsed.values['json'] === true ? JSON.stringify(found) : runBlameWords(found, by).join('\n'));
  });
}

/** @throws C3Error('input') for what losses are not divided by */
function readDivision(parsed: ParsedArguments): LossDivision['by'] | null {
  const given = text(parsed, 'by');
  const by = LOSS_DIVISIONS.find((one) => one === given) ?? null;
  if (given !== null && by === null) {
    throw new C3Error(
      'input',
      `Losses are not divided by ${JSON.stringify(given.slice(0, 40))}; give --by ${LOSS_DIVISIONS.join(', ')}.`,
    );
  }
  return by;
}

function showSpent({ streams: { stderr } }: CommandContext, calls: number, budget: number): void {
  if (stderr.isTTY === true) {
    stderr.write(`\r\u001b[2K${callsWords(calls, budget)}`);
  }
}

/** The contract of the JSON document; more keys stand beside what it names. */
const documentOf = ({ curve, ...found }: Blame): object => ({
  ...found,
  curve: curve.map(({ message, role, value, low, high, n, drop }) => ({ message, role, value, low, high, n, drop })),
});

/** The sentence, then a line for each point of the curve. */
function wordsOf({ sentence, curve, remedy, most }: Blame): string[] {
  const width = Math.max(...curve.map(({ role }) => (role ?? 'at the start').length));
  const points = curve.map((point) => {
    const { role, message, n, drop } = point;
    const change =
      drop === null || (drop.n === 0 && n === 0)
        ? ''
        : `, ${signed((100 * drop.value) / most, 0)} points by message ${String(message)}`;
    const known = n === 0 && message === null ? 'not measured' : chanceWords(point, most);
    return `  ${(role ?? 'at the start').padEnd(width)}  ${known}${n === 0 ? '' : `, n = ${String(n)}`}${change}`;
  });
  const instead =
    remedy === null
      ? []
      : [
          `Said instead ${String(remedy.said)} of ${String(remedy.of)} times, for ${chanceWords({ ...remedy, low: 0, high: 0, n: 0 }, most)}:`,
          `  ${visible(remedy.text)}`,
        ];
  return [sentence, '', 'Chance of success after each message', ...points, ...instead];
}

/** Characters of a question that are shown. */
const SHOWN = 60;

/**
 * The sentence, what each role lost, and the clearest cases.
 * @param by how losses are divided in a second table
 */
export function runBlameWords(found: RunBlame, by: LossDivision['by'] | null = null): string[] {
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
          ...partLines(roles.map(({ role: name, ...part }) => ({ name, ...part }))),
        ]),
    ...(by === null ? [] : ['', ...divisionLines(found, by)]),
    '',
    foundWords(found),
    ...(cases.length === 0 ? [] : ['', 'Clearest cases']),
    ...cases.flatMap(({ question, sentence: said, message }) => [
      `  message ${String(message)}: ${said}`,
      `    ${oneLine(question, SHOWN)}`,
    ]),
  ];
}

/** Why losses are not divided where shares are known. */
const NOTHING_TO_SAY: Readonly<Record<LossDivision['by'], string>> = {
  turn: 'No role said more than one message in an episode, so that turns are roles.',
  class:
    'The problems that were read do not differ in their class; training classifies its own problems, and c3 diagnose --sample those of the evaluation.',
  label: 'The messages that were read do not differ in their label; c3 label and the failure taxonomy give labels.',
  level: 'The problems that were read do not differ in their level.',
  source: 'The problems that were read do not differ in their source.',
};

/** How losses are divided otherwise than by role, or why there is nothing to say of it. */
function divisionLines({ roles, divisions = [] }: RunBlame, by: LossDivision['by']): string[] {
  const division = divisions.find((one) => one.by === by);
  if (division !== undefined) {
    return [divisionTitle(division), ...partLines(division.parts)];
  }
  if (roles.length === 0) {
    return [`Shares by ${by} are not known either.`];
  }
  return [NOTHING_TO_SAY[by]];
}

/** A line for each part: its share, and the episodes that it lost alone. */
function partLines(parts: readonly LossPart[]): string[] {
  const rows = parts.map(({ name, share }) => [visible(name), shareWords(share)] as const);
  const [first, second] = [0, 1].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0), 'role'.length));
  return rows.map(
    ([name, share], at) =>
      `  ${name.padEnd(first ?? 0)}  ${share.padEnd(second ?? 0)}  lost ${String(parts[at]?.episodes)} alone`,
  );
}
