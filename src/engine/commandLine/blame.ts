/** `c3 blame`: which message lost an episode, and what loses the episodes of a run. */
import { C3Error } from '../../shared/errors.ts';
import {
  BLAME_BUDGET,
  callsWords,
  chanceWords,
  foundWords,
  RUN_BLAME_BUDGET,
  shareWords,
  type Blame,
  type RunBlame,
} from '../../domain/answer.ts';
import { signed } from '../../shared/text/figures.ts';
import { visible } from '../../shared/text/visible.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { messageNumber, readArguments, text, whole, type ParsedArguments } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, STORE, withService } from './support.ts';

export async function blame(args: readonly string[], context: CommandContext): Promise<void> {
  const options = { ...STORE, ...JSON_FLAG, run: { type: 'string' }, budget: { type: 'string' } } as const;
  const parsed = readArguments('blame', args, options, 1);
  if (parsed.positionals.length === 0) {
    await blameRun(parsed, context);
    return;
  }
  if (text(parsed, 'run') !== null) {
    throw new C3Error('input', 'c3 blame takes either an episode or --run; give one of the two.');
  }
  await blameEpisode(parsed, context);
}

async function blameEpisode(parsed: ParsedArguments, context: CommandContext): Promise<void> {
  const { print, note, signal } = context;
  const message = messageNumber('blame', parsed);
  const budget = whole(parsed, 'budget', BLAME_BUDGET.least, BLAME_BUDGET.usual);
  await withService(parsed, context, async (service) => {
    await service.updated(signal);
    const found = await service.blame(
      { message, budget },
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

async function blameRun(parsed: ParsedArguments, context: CommandContext): Promise<void> {
  const { print, note, signal } = context;
  const budget = whole(parsed, 'budget', RUN_BLAME_BUDGET.least, RUN_BLAME_BUDGET.usual);
  await withService(parsed, context, async (service) => {
    await service.updated(signal);
    const run = text(parsed, 'run') ?? service.reading((store) => store.runs(0, 1))[0]?.id;
    if (run === undefined) {
      throw new C3Error('input', `The store ${service.storePath} holds no run; start one with \`c3 run\`.`);
    }
    const found = await service.blameRun(
      { run, budget },
      {
        signal,
        onProgress: (calls) => {
          showSpent(context, calls, budget);
        },
        onRemark: note,
      },
    );
    print(parsed.values['json'] === true ? JSON.stringify(found) : runBlameWords(found).join('\n'));
  });
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

/** The sentence, what each role lost, and the clearest cases. */
export function runBlameWords(found: RunBlame): string[] {
  const { sentence, lost, roles, cases } = found;
  if (lost === 0) {
    return [sentence];
  }
  const rows = roles.map(({ role, share, episodes }) => [role, shareWords(share), String(episodes)] as const);
  const [name, part] = [0, 1].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0), 'role'.length));
  const table = rows.map(
    ([role, share, episodes]) => `  ${role.padEnd(name ?? 0)}  ${share.padEnd(part ?? 0)}  lost ${episodes} alone`,
  );
  return [
    sentence,
    ...(table.length === 0 ? [] : ['', 'Share of what was within reach, and episodes, by role', ...table]),
    '',
    foundWords(found),
    ...(cases.length === 0 ? [] : ['', 'Clearest cases']),
    ...cases.flatMap(({ question, sentence: said, message }) => [
      `  message ${String(message)}: ${said}`,
      `    ${oneLine(question, SHOWN)}`,
    ]),
  ];
}
