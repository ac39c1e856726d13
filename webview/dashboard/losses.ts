/** Shows what loses the episodes of the run: a sentence, a bar for each role, and the clearest cases. */

import {
  divisionTitle,
  describeReadEpisodes,
  formatLossShare,
  listCaseSentences,
  type BlamedEpisode,
  type LossDivision,
  type LossPart,
  type RunBlame,
} from '../../src/domain/answer.ts';
import type { ShownLosses } from '../../src/shared/protocols/dashboardProtocol.ts';
import { h, type Child } from '../common/dom.ts';
import { count, keepUnits } from '../common/format.ts';
import { term } from '../common/term.ts';
import { button } from '../common/toolkit.ts';
import { toPlainTitle } from './view.ts';

export interface LossesEvents {
  /** Starts the search for what loses episodes. */
  readonly find: () => void;
  /** Opens the dialog to try a change of a role. */
  readonly tryChange: (role: string) => void;
  readonly openMessage: (message: number) => void;
}

/** Creates the section. Returns null if the search is not possible. */
export function lossesSection(losses: ShownLosses | null, around: LossesEvents): HTMLElement | null {
  if (losses === null) {
    return null;
  }
  const { found, isAsked } = losses;
  const ask = button(found === null ? 'Find what loses episodes' : 'Search further', around.find, {
    primary: found === null,
    title: 'Replays the lost episodes of the last evaluation from each of their messages',
  });
  const [loser] = found?.roles ?? [];
  const attempt =
    loser === undefined
      ? null
      : button(`Try a change of the ${toPlainTitle(loser.role)}`, () => around.tryChange(loser.role), {
          primary: true,
          title: 'Another prompt, snapshot or model for this role, on the held-out problems',
        });
  return h(
    'section',
    { class: 'losses', 'aria-label': 'What loses episodes' },
    h('h2', { tabindex: '-1' }, 'What loses episodes'),
    ...(found === null ? [] : createAnswer(found)),
    h(
      'div',
      { class: 'losses-ask' },
      isAsked ? h('span', { class: 'muted', role: 'status' }, 'Searching …') : ask,
      attempt,
    ),
    ...(found === null ? [] : createEvidence(found, around)),
  );
}

/** Creates the sentence, the shares of the roles, and the numbers behind them. */
function createAnswer(found: RunBlame): HTMLElement[] {
  const byRole = found.roles.map(({ role, ...part }) => ({ name: role, ...part }));
  return [
    h('p', { class: 'losses-sentence' }, keepUnits(found.sentence)),
    ...(byRole.length === 0
      ? []
      : [
          createShareTable('Share of what was within reach, by role', byRole, [
            'Share of what was ',
            term('withinReach'),
            ', by role',
          ]),
        ]),
    ...(found.lost === 0 ? [] : [h('p', { class: 'muted' }, describeReadEpisodes(found))]),
  ];
}

/** Creates what the user opens to learn more: other divisions, and the episodes. */
const createEvidence = ({ divisions = [], cases }: RunBlame, around: LossesEvents): HTMLElement[] => [
  ...divisions.map(createDivision),
  ...(cases.length === 0 ? [] : [createClearestCases(cases, around)]),
];

function createDivision(division: LossDivision): HTMLElement {
  const title = divisionTitle(division);
  return h('details', { class: 'losses-division' }, h('summary', {}, title), createShareTable(title, division.parts));
}

/**
 * Creates a table with a bar from 0 to each share and its interval as a line over it.
 * @param caption the title with its terms, if nothing above the table shows it already
 */
function createShareTable(title: string, parts: readonly LossPart[], caption: readonly Child[] = []): HTMLElement {
  return h(
    'table',
    { class: 'losses-roles', 'aria-label': title },
    caption.length === 0 ? null : h('caption', {}, ...caption),
    h(
      'tbody',
      {},
      ...parts.map(({ name, share, episodes }) => {
        const bar = h('span', { class: 'losses-bar', 'aria-hidden': 'true' });
        place(bar, Math.min(0, share.value), Math.max(0, share.value));
        const reach = h('span', { class: 'losses-reach', 'aria-hidden': 'true' });
        place(reach, share.low ?? share.value, share.high ?? share.value);
        return h(
          'tr',
          {},
          h('th', { scope: 'row' }, toPlainTitle(name)),
          h('td', { class: 'losses-track' }, bar, reach),
          h('td', {}, formatLossShare(share)),
          h('td', { class: 'muted' }, `${count(episodes)} lost by one message`),
        );
      }),
    ),
  );
}

/** Range of the bars: -50 % to 150 %. Shares add up to 1, and a share may be negative. */
const [LEAST, MOST] = [-0.5, 1.5];

function place(element: HTMLElement, from: number, to: number): void {
  const at = (value: number): number => (100 * (Math.min(MOST, Math.max(LEAST, value)) - LEAST)) / (MOST - LEAST);
  element.style.insetInlineStart = `${at(from)}%`;
  element.style.inlineSize = `${at(to) - at(from)}%`;
}

function createClearestCases(cases: readonly BlamedEpisode[], { openMessage }: LossesEvents): HTMLElement {
  const { together, sentences } = listCaseSentences(cases);
  return h(
    'details',
    { class: 'losses-cases', open: true },
    h('summary', {}, `Clearest cases (${count(cases.length)})`),
    together ? h('p', { class: 'muted' }, 'Decided together with the other lost episodes of the run.') : null,
    h(
      'ol',
      {},
      ...cases.map(({ message, question }, index) =>
        h(
          'li',
          {},
          button(
            'Open',
            () => {
              if (message !== null) {
                openMessage(message);
              }
            },
            { title: 'Opens the message in its transcript' },
          ),
          h(
            'div',
            {},
            h('div', {}, keepUnits(sentences[index] ?? '')),
            h('div', { class: 'muted losses-question' }, question.slice(0, 300)),
          ),
        ),
      ),
    ),
  );
}
