/** Reads branches from the store and formats them for the diff editor. */

import type { Message } from '../../domain/message.ts';
import { toOutcome } from '../../shared/credit/returns.ts';
import type { Branch } from '../../shared/transcript/branches.ts';
import type { StoreReader } from '../../store/read/reader.ts';

type Reader = Pick<StoreReader, 'chain' | 'children' | 'problem' | 'message' | 'returnScale'>;

/** Maximum number of messages of a branch. Longer branches are cut. */
const MOST_MESSAGES = 10_000;

/**
 * Reads the branch of a message: the messages up to it, then its first continuations to the end.
 * @throws C3Error('input') if the message is unknown
 */
export function branchOf(reader: Reader, message: number): Branch {
  const above = reader.chain(message);
  const chosen = above.at(-1) ?? reader.message(message);
  const below: Message[] = [];
  let otherContinuations = 0;
  for (let last = chosen; above.length + below.length < MOST_MESSAGES;) {
    const { phase, iteration } = last;
    const [next, ...others] = listContinuations(reader, last, phase, iteration);
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
    title: formatBranchTitle(chosen),
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
    outcome: end === null ? null : toOutcome(end, reader.returnScale(chosen.run)),
    otherContinuations,
  };
}

/**
 * Returns the continuations of a message in its own round, or all if there are none in that round.
 * Replay requests add continuations of other rounds.
 */
function listContinuations(
  reader: Reader,
  { id }: Message,
  phase: Message['phase'],
  iteration: number,
): readonly Message[] {
  const all = reader.children(id);
  const own = all.filter((child) => child.phase === phase && child.iteration === iteration);
  return own.length > 0 ? own : all;
}

function formatBranchTitle({ id, phase, iteration, role }: Message): string {
  const round = { train: 'step', evaluate: 'evaluation', replay: 'replay request' }[phase];
  return `${role}, message ${id} of ${round} ${iteration}`;
}

/**
 * Formats a branch as a document. It has no ids and credits: they differ between any two branches and
 * would hide the relevant differences. The texts of messages are unchanged.
 */
export function formatBranch(branch: Branch): string {
  const parts = [`──── question`, branch.question];
  for (const { role, turn, text } of branch.messages) {
    parts.push(`──── ${role}${turn > 0 ? `, turn ${turn + 1}` : ''}`, text);
  }
  parts.push(`──── return`, branch.return === null ? 'not measured' : String(branch.return));
  return `${parts.join('\n')}\n`;
}
