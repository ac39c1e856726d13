/** What environments added to an episode: a chip in a row, a block beside a message in full. */
import type { MessageDetail } from '../../src/shared/protocols/transcriptProtocol.ts';
import type { ShownEvent } from '../../src/shared/transcript/shownEvents.ts';
import { disarmed } from '../../src/shared/text/visible.ts';
import { h } from '../common/dom.ts';
import { count, oneLine, returnText } from '../common/format.ts';
import { shownText } from '../common/shownText.ts';

/** Where an event comes from, and in which round. */
export const eventWords = ({ source, round }: Pick<ShownEvent, 'source' | 'round'>): string =>
  round === null ? source : `${source}, round ${String(round)}`;

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

/** In a row: the name alone, all of it on hovering. */
export function eventChip(event: ShownEvent): HTMLElement {
  const text = disarmed(oneLine(event.text));
  return h('span', { class: 'event', title: `${eventWords(event)}${text === '' ? '' : `: ${text}`}` }, event.source);
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
        h(
          'h3',
          {},
          eventWords(event),
          facts.length === 0 ? null : h('span', { class: 'muted' }, ` ${facts.join('; ')}`),
        ),
        event.text === ''
          ? h('p', { class: 'muted' }, 'nothing to read')
          : h('pre', { class: 'message-text', tabindex: 0 }, ...shownText(event.text)),
      );
    }),
  );
}
