/** Shows the events that environments added to an episode, and the votes of voters. */

import type { MessageDetail } from '../../src/shared/protocols/transcriptProtocol.ts';
import { showInvisibleControls } from '../../src/shared/text/visible.ts';
import type { ShownEvent } from '../../src/shared/transcript/shownEvents.ts';
import type { ShownVoter } from '../../src/shared/transcript/shownVote.ts';
import { h } from '../common/dom.ts';
import { count, toSingleLine, formatReturnValue, signed } from '../common/format.ts';
import { createTextNodes } from '../common/shownText.ts';

/** Names the source of an event and its round. */
export const nameEvent = ({ source, round }: Pick<ShownEvent, 'source' | 'round'>): string =>
  round === null ? source : `${source}, round ${round}`;

/** Names a stage: the rollouts between two updates of a training step. */
export const nameStage = (stage: number): string => `stage ${count(stage)}`;
export const STAGE_TITLE = 'Sampled between two updates of the step, by the team as it was then';

/** Creates the turn, round and stage after the role of a message, or null if there are none. */
export function createMessagePlace({
  message: { turn, stage },
  round,
}: Pick<MessageDetail, 'message' | 'round'>): HTMLElement | null {
  const parts = [
    turn > 0 && turn + 1 !== round ? `turn ${count(turn + 1)}` : '',
    round === null ? '' : `round ${count(round)}`,
    stage === undefined ? '' : nameStage(stage),
  ].filter((part) => part !== '');
  return parts.length === 0 ? null : h('span', { class: 'muted' }, ` ${parts.join(', ')}`);
}

/** Describes an event in one line: its text, or else the reason why it ended the episode. */
export function describeEvent(event: ShownEvent): string {
  const said = showInvisibleControls(toSingleLine(event.text === '' ? (event.done ?? '') : event.text));
  return `${nameEvent(event)}${said === '' ? '' : `: ${said}`}`;
}

/** Creates the chip of an event in a row: its source and, from round 2 on, its round. */
export function createEventChip(event: ShownEvent): HTMLElement {
  const { source, round } = event;
  const name = round === null || round === 1 ? source : `${source} ${count(round)}`;
  return h('span', { class: 'event', title: describeEvent(event) }, name);
}

/** Creates the section that shows events in full. Returns null if there are none. */
export function createEventBlock(events: readonly ShownEvent[], label: string): HTMLElement | null {
  if (events.length === 0) {
    return null;
  }
  return h(
    'section',
    { class: 'events', 'aria-label': label },
    ...events.map((event) => {
      const facts = [
        event.closing && event.reward !== null ? `scored ${formatReturnValue(event.reward)}` : '',
        event.done === null ? '' : `the episode ends: ${showInvisibleControls(toSingleLine(event.done))}`,
        event.derived ? '' : 'recorded as it came',
      ].filter((fact) => fact !== '');
      return h(
        'div',
        { class: 'event-block' },
        h('h3', {}, nameEvent(event)),
        event.text === '' ? null : h('pre', { class: 'message-text', tabindex: 0 }, ...createTextNodes(event.text)),
        facts.length === 0 && event.text !== ''
          ? null
          : h('p', { class: 'muted' }, facts.length === 0 ? 'nothing to read' : facts.join('; ')),
      );
    }),
  );
}

/** Length at which shown answers are cut off. The message itself shows all of its answer. */
const MOST_CHARACTERS = 80;

export const cutAnswer = (answer: string): string => {
  const line = showInvisibleControls(toSingleLine(answer));
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
};

export const joinAnswers = (answers: readonly string[]): string => answers.map(cutAnswer).join(' or ');

/** Describes a voter's effect on the vote in a few words, with its contribution if known. */
export function describeVoterBriefly({ answer, chosen, pivotal, contribution }: ShownVoter): string {
  const did = pivotal ? (chosen ? 'decides' : 'changes the vote') : chosen ? 'with the vote' : 'not chosen';
  const words = answer === null ? 'no answer' : did;
  return contribution === null ? words : `${words} ${signed(contribution)}`;
}

/** Describes a voter's effect on the vote in sentences. */
export function describeVoter(voter: ShownVoter): string {
  const { answer, chosen, pivotal, without, contribution } = voter;
  const own =
    answer === null
      ? 'States no answer.'
      : `Answers ${cutAnswer(answer)}, which the vote ${chosen ? 'chose' : 'did not choose'}.`;
  const other = without.length === 0 ? 'none' : joinAnswers(without);
  const rest = `Without it the vote chooses ${pivotal ? other : 'the same'}.`;
  const share = contribution === null ? '' : ` Contribution: ${signed(contribution)}.`;
  return `${own} ${rest}${share}`;
}
