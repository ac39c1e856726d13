/** `c3 blame`: which message lost an episode. */
import { BLAME_BUDGET, chanceWords, type Blame } from '../../shared/records/blame.ts';
import { signed } from '../../shared/text/figures.ts';
import { visible } from '../../shared/text/visible.ts';
import { findWhatLost } from '../replay/blame.ts';
import { messageNumber, readArguments, whole } from './arguments.ts';
import { JSON_FLAG, STORE, withService, type CommandContext } from './support.ts';

export async function blame(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, note, streams, signal } = context;
  const options = { ...STORE, ...JSON_FLAG, budget: { type: 'string' } } as const;
  const parsed = readArguments('blame', args, options, 1);
  const message = messageNumber('blame', parsed);
  const budget = whole(parsed, 'budget', BLAME_BUDGET.least, BLAME_BUDGET.usual);
  await withService(parsed, context, async (service) => {
    await service.updated(signal);
    const found = await findWhatLost(
      service,
      { message, budget },
      {
        signal,
        onProgress: ({ evaluatorCalls }) =>
          streams.stderr.isTTY === true &&
          streams.stderr.write(`\r${String(evaluatorCalls)} of at most ${String(budget)} calls`),
        onRemark: note,
      },
    );
    print(parsed.values['json'] === true ? JSON.stringify(documentOf(found)) : wordsOf(found).join('\n'));
  });
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
