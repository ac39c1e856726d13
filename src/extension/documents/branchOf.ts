/** Branches read from the store, and as text for the diff editor. */
import type { Message } from '../../domain/message.ts';
import { outcomeOf } from '../../shared/credit/returns.ts';
import type { Branch } from '../../shared/transcript/branches.ts';
import type { StoreReader } from '../../store/read/reader.ts';

type Reader = Pick<StoreReader, 'chain' | 'children' | 'problem' | 'message' | 'returnScale'>;

/** Longer branches are cut: a transcript may be one chain without end. */
const MOST_MESSAGES = 10_000;

/**
 * The branch of a message: the way down to it, then on by its first continuation to the end.
 * @throws C3Error('input') for an unknown message
 */
export function branchOf(reader: Reader, message: number): Branch {
  const above = reader.chain(message);
  const chosen = above.at(-1) ?? reader.message(message);
  const below: Message[] = [];
  let otherContinuations = 0;
  for (let last = chosen; above.length + below.length < MOST_MESSAGES;) {
    const { phase, iteration } = last;
    const [next, ...others] = continuationsOf(reader, last, phase, iteration);
    if (next === undefined) {
      break;
    }
    if (last === chosen) {
      otherContinuations = others.length;
    }
    below.push(next);
    last = next;
  }
  const messages = [...above, ...below];
  const end = messages.at(-1)?.return ?? null;
  return {
    message,
    title: titleOf(chosen),
    question: reader.problem(chosen.problem).question,
    messages: messages.map(({ id, role, turn, text, tokenCount, return: value }) => ({
      message: id,
      role,
      turn,
      text,
      tokens: tokenCount,
      return: value,
    })),
    return: end,
    ...(messages.at(-1)?.byHand === true && { byHand: true }),
    outcome: end === null ? null : outcomeOf(end, reader.returnScale(chosen.run)),
    otherContinuations,
  };
}

/** What continues a message in its own round; a message that a request replayed anew has further ones there. */
function continuationsOf(
  reader: Reader,
  { id }: Message,
  phase: Message['phase'],
  iteration: number,
): readonly Message[] {
  const all = reader.children(id);
  const own = all.filter((child) => child.phase === phase && child.iteration === iteration);
  return own.length > 0 ? own : all;
}

function titleOf({ id, phase, iteration, role }: Message): string {
  const round = { train: 'step', evaluate: 'evaluation', replay: 'replay request' }[phase];
  return `${role}, message ${id} of ${round} ${iteration}`;
}

/**
 * A branch as a document. Ids and credits stay out of it, because they differ between any two branches and would hide
 * what matters. The texts are unchanged; only what the lines around them say is ours.
 */
export function branchText(branch: Branch): string {
  const parts = [`──── question`, branch.question];
  for (const { role, turn, text } of branch.messages) {
    parts.push(`──── ${role}${turn > 0 ? `, turn ${turn + 1}` : ''}`, text);
  }
  parts.push(`──── return`, branch.return === null ? 'not measured' : String(branch.return));
  return `${parts.join('\n')}\n`;
}
