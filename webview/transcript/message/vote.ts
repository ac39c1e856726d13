/** Shows the vote that ended an episode: the answers, the count, and the result without each voter. */

import {
  TIE_WORDS,
  type ShownTally,
  type ShownVote,
  type ShownVoter,
} from '../../../src/shared/transcript/shownVote.ts';
import { h, linkButton } from '../../common/dom.ts';
import { NOT_MEASURED, plural, signed } from '../../common/format.ts';
import { joinAnswers, cutAnswer } from '../events.ts';

/** Describes the votes for each answer and the result in one line. */
export function describeTally({ tally, tied, ties }: Pick<ShownVote, 'tally' | 'tied' | 'ties'>): string {
  if (tally.length === 0) {
    return 'No voter states an answer.';
  }
  const votes = ({ answer, votes: number }: ShownTally): string => `${cutAnswer(answer)}: ${plural(number, 'vote')}`;
  const chosen = tally.filter((one) => one.chosen).map(({ answer }) => answer);
  const outcome = chosen.length === 0 ? 'No answer is chosen.' : `Chosen: ${joinAnswers(chosen)}.`;
  return `${tally.map(votes).join(', ')}. ${outcome} ${tied ? 'Tied' : 'Not tied'}; of a tie, ${TIE_WORDS[ties]} (ties: ${ties}).`;
}

/** Describes the result of the vote without a voter. */
export function describeWithoutVoter({ without, pivotal }: Pick<ShownVoter, 'without' | 'pivotal'>): string {
  return pivotal ? `${without.length === 0 ? 'none' : joinAnswers(without)} (pivotal)` : 'the same';
}

/**
 * Creates the section of a vote. Returns null if there was none.
 * @param current the message that the pane shows
 * @param open shows another voter's message in the tree
 */
export function createVoteView(
  vote: ShownVote | null,
  current: number,
  open: (message: number) => void,
): HTMLElement | null {
  if (vote === null) {
    return null;
  }
  const heads = ['Voter', 'Answer', 'Without it', 'Contribution', 'Shapley'].map((name) =>
    h('th', { scope: 'col' }, name),
  );
  const rows = vote.voters.map((voter) => {
    const { message, role, answer, contribution, shapley } = voter;
    const own = message === current;
    return h(
      'tr',
      { 'aria-current': own ? 'true' : null },
      h('th', { scope: 'row' }, own ? role : opener(role, message, open)),
      h('td', {}, answer === null ? h('span', { class: 'muted' }, 'no answer') : cutAnswer(answer)),
      h('td', { class: voter.pivotal ? 'pivotal' : null }, describeWithoutVoter(voter)),
      h('td', { class: 'number' }, contribution === null ? NOT_MEASURED : signed(contribution)),
      h('td', { class: 'number' }, shapley === null ? NOT_MEASURED : signed(shapley)),
    );
  });
  return h(
    'section',
    { class: 'vote', 'aria-label': 'Vote' },
    h('h3', {}, 'Vote'),
    h('p', {}, describeTally(vote)),
    h('table', {}, h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, ...rows)),
    h(
      'p',
      { class: 'muted' },
      `Contribution: the reward of the vote minus the reward without the voter. Shapley: what the voter adds to those before it, on average over all orders of voters. Nothing was sampled for them; ${plural(vote.evaluatorCalls, 'evaluator call')}.`,
    ),
  );
}

function opener(role: string, message: number, open: (message: number) => void): HTMLElement {
  return linkButton(() => open(message), { title: 'Show this message in the tree' }, role);
}
