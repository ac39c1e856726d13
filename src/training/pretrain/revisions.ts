/**
 * Demonstrations of a second turn: a first draft, mostly with slips, the feedback of the environment
 * between the turns, and the right messages. Contexts are rendered as in a run, with the history that
 * the protocol shows.
 */

import type { LogEvent } from '../../domain/episode.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { askEnvironment } from '../../replay/unfold.ts';
import type { DemonstratedProblem } from '../../tasks/demonstration.ts';
import { requireOccurrence, type Protocol } from '../../team/protocol.ts';
import { renderLog, renderPlain } from '../../team/render.ts';
import { nextStep } from '../../team/rounds.ts';

export type Examine = NonNullable<Evaluator['examine']>;

/** Share of drafts with slips; the others are right and stay as they are. */
const HASTY_DRAFTS = 0.75;
/** The environments of a second turn draw no random numbers. */
const NO_STREAM = '0'.repeat(32);

export interface Revision {
  readonly context: string;
  readonly message: string;
}

/** Returns a number in [0, 1) from eight hex digits of a hash. */
const hashDigitsToUnit = (sha: string, digit: number): number =>
  Number.parseInt(sha.slice(digit, digit + 8), 16) / 0x1_0000_0000;

/** Returns true if a problem is in the share that shows a second turn; it depends only on its question. */
export const isRevised = ({ uidSha }: Pick<DemonstratedProblem, 'uidSha'>, share: number): boolean =>
  hashDigitsToUnit(uidSha, 16) < share;

/**
 * Returns the context and the message of each role in its second turn of a problem, in order.
 * @param protocol of two turns or more, in which the roles speak in the order of the problem's
 *   messages
 * @param examine executes the draft, if the environment between the turns asks for it
 * @throws C3Error('engine') if the environment fails; EvaluatorLost
 */
export async function makeRevisions(
  problem: DemonstratedProblem,
  protocol: Protocol,
  examine?: Examine,
): Promise<readonly Revision[]> {
  const { said, saidInHaste, question } = problem;
  const draft = hashDigitsToUnit(problem.uidSha, 24) < HASTY_DRAFTS ? saidInHaste : said;
  const saying = (text: string, position: number): LogEvent => ({
    kind: 'decision',
    position,
    role: requireOccurrence(protocol, position).role,
    text,
  });
  const log = draft.map(saying);
  for (;;) {
    const step = nextStep(protocol, log, () => 0);
    if (step.kind !== 'environment') {
      break;
    }
    log.push(
      await askEnvironment(
        protocol,
        problem,
        log,
        step,
        NO_STREAM,
        undefined,
        examine === undefined ? {} : { examine },
      ),
    );
  }
  const found: Revision[] = [];
  for (const [index, message] of said.entries()) {
    const position = draft.length + index;
    found.push({ context: renderPlain(renderLog(protocol, position, question, log)), message });
    log.push(saying(message, position));
  }
  return found;
}
