/** What environments added to an episode: a chip in a row, a block beside a message in full, what voters did. */
import type { MessageDetail } from '../../src/shared/protocols/transcriptProtocol.ts';
import { disarmed } from '../../src/shared/text/visible.ts';
import type { ShownEvent } from '../../src/shared/transcript/shownEvents.ts';
import type { ShownVoter } from '../../src/shared/transcript/shownVote.ts';
import { h } from '../common/dom.ts';
import { count, oneLine, returnText, signed } from '../common/format.ts';
import { shownText } from '../common/shownText.ts';

/** Where an event comes from, and in which round. */
export const eventWords = ({ source, round }: Pick<ShownEvent, 'source' | 'round'>): string =>
  round === null ? source : `${source}, round ${round}`;

/** Of rollouts between two updates of a training step. */
export const stageWords = (stage: number): string => `stage ${count(stage)}`;
export const STAGE_TITLE = 'Sampled between two updates of the step, by the team as it was then';

/** Behind the role of a message: its turn, round and stage, where they say anything. */
export function messagePlace({
  message: { turn, stage },
  round,
}: Pick<MessageDetail, 'message' | 'round'>): HTMLElement | null {
  const parts = [
    turn > 0 && turn + 1 !== round ? `turn ${count(turn + 1)}` : '',
    round === null ? '' : `round ${count(round)}`,
    stage === undefined ? '' : stageWords(stage),
  ].filter((part) => part !== '');
  return parts.length === 0 ? null : h('span', { class: 'muted' }, ` ${parts.join(', ')}`);
}

/** An event in one line: what it says, or else why it ended the episode. */
export function eventLine(event: ShownEvent): string {
  const said = disarmed(oneLine(event.text === '' ? (event.done ?? '') : event.text));
  return `${eventWords(event)}${said === '' ? '' : `: ${said}`}`;
}

/** In a row: the name alone, from the second round on with its number; all of it on hovering. */
export function eventChip(event: ShownEvent): HTMLElement {
  const { source, round } = event;
  const name = round === null || round === 1 ? source : `${source} ${count(round)}`;
  return h('span', { class: 'event', title: eventLine(event) }, name);
}

/** Events in full; null where there are none. */
export function eventBlock(events: readonly ShownEvent[], label: string): HTMLElement | null {
  if (events.length === 0) {
    return null;
  }
  return h(
    'section',
    { class: 'events', 'aria-label': label },
    ...events.map((event) => {
      const facts = [
        event.closing && event.reward !== null ? `scored ${returnText(event.reward)}` : '',
        event.done === null ? '' : `the episode ends: ${disarmed(oneLine(event.done))}`,
        event.derived ? '' : 'recorded as it came',
      ].filter((fact) => fact !== '');
      return h(
        'div',
        { class: 'event-block' },
        h('h3', {}, eventWords(event)),
        event.text === '' ? null : h('pre', { class: 'message-text', tabindex: 0 }, ...shownText(event.text)),
        facts.length === 0 && event.text !== ''
          ? null
          : h('p', { class: 'muted' }, facts.length === 0 ? 'nothing to read' : facts.join('; ')),
      );
    }),
  );
}

/** Answers are cut here; the message has all of it. */
const MOST_CHARACTERS = 80;

export const shownAnswer = (answer: string): string => {
  const line = disarmed(oneLine(answer));
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
};

export const answersWords = (answers: readonly string[]): string => answers.map(shownAnswer).join(' or ');

/** What a voter did to the vote in a word or two, and its contribution where that is known: for its row. */
export function voterWords({ answer, chosen, pivotal, contribution }: ShownVoter): string {
  const did = pivotal ? (chosen ? 'decides' : 'changes the vote') : chosen ? 'with the vote' : 'not chosen';
  const words = answer === null ? 'no answer' : did;
  return contribution === null ? words : `${words} ${signed(contribution)}`;
}

/** The same in sentences. */
export function voterSentences(voter: ShownVoter): string {
  const { answer, chosen, pivotal, without, contribution } = voter;
  const own =
    answer === null
      ? 'States no answer.'
      : `Answers ${shownAnswer(answer)}, which the vote ${chosen ? 'chose' : 'did not choose'}.`;
  const other = without.length === 0 ? 'none' : answersWords(without);
  const rest = `Without it the vote chooses ${pivotal ? other : 'the same'}.`;
  const share = contribution === null ? '' : ` Contribution: ${signed(contribution)}.`;
  return `${own} ${rest}${share}`;
}
