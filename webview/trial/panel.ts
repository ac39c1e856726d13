/** The result of a trial: its sentence, the pairs that flipped, the costs, and the scatter plot. */

import { areTokensKnown, computeMeanReturns, type TrialProblem } from '../../src/domain/trial.ts';
import { describeServerCost } from '../../src/shared/endpointCost.ts';
import type { ShownCase, ShownTrial, TrialFromHost, TrialToHost } from '../../src/shared/protocols/trialProtocol.ts';
import { h, linkButton, redrawWithFocus, replace } from '../common/dom.ts';
import { count, duration, formatReturnValue, keepUnits } from '../common/format.ts';
import type { Host } from '../common/host.ts';
import { createTextNodes } from '../common/shownText.ts';
import { button } from '../common/toolkit.ts';
import { drawScatter } from './scatter.ts';

/** Number of characters of a question in a list. */
const QUESTION = 200;
/** Largest number of rows in the table of problems. */
const MOST_ROWS = 200;

interface NumberedCase extends ShownCase {
  readonly index: number;
}

export class TrialPanel {
  private readonly host: Host<TrialToHost>;
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly page = h('div', { class: 'trial' });

  constructor(root: HTMLElement, host: Host<TrialToHost>) {
    this.host = host;
    replace(root, this.banner, this.page);
    host.listen<TrialFromHost>({
      trial: ({ trial }) => {
        this.banner.textContent = '';
        this.draw(trial);
      },
      failed: ({ message }) => {
        this.banner.textContent = message;
      },
    });
    // The editor restores a tab only if its page has a state.
    host.setState({ version: 1 });
    host.post({ type: 'ready' });
  }

  private draw(trial: ShownTrial): void {
    const numbered = trial.cases.map((one, index) => ({ ...one, index }));
    const won = numbered.filter(({ before, after }) => after > before);
    const lost = numbered.filter(({ before, after }) => after < before);
    const flips = [
      this.flips('Won by the change', won, trial.better),
      this.flips('Lost by the change', lost, trial.worse),
    ];
    redrawWithFocus(this.page, () =>
      replace(
        this.page,
        this.head(trial),
        h(
          'div',
          { class: 'trial-parts' },
          h(
            'div',
            { class: 'trial-flips' },
            // The more frequent pairs first.
            ...(trial.worse > trial.better ? flips.toReversed() : flips),
          ),
          h('div', { class: 'trial-figures' }, createSidesTable(trial), createReturns(trial)),
        ),
      ),
    );
  }

  private head({
    run,
    change,
    sentence,
    difference,
    prompt,
    isOnLost,
    isOpen,
    canKeep,
    kept,
  }: ShownTrial): HTMLElement {
    const act = (key: string, label: string, title: string, post: TrialToHost, primary = false): HTMLElement => {
      const element = button(label, () => this.host.post(post), { primary, title });
      element.setAttribute('data-key', key);
      return element;
    };
    return h(
      'header',
      { class: 'trial-head' },
      h('h1', { class: 'trial-sentence' }, sentence),
      h(
        'p',
        { class: 'muted' },
        ...createTextNodes(`Run ${run}: ${change}${isOnLost ? ', on the problems that its last evaluation lost' : ''}`),
      ),
      h(
        'div',
        { class: 'trial-actions' },
        canKeep
          ? act(
              'keep',
              'Keep',
              'Writes the change into a configuration that you choose',
              { type: 'keep' },
              difference.low > 0,
            )
          : null,
        isOpen
          ? act('further', 'Try further', 'Repeats the trial on twice as many pairs', { type: 'further' }, true)
          : null,
        isOnLost
          ? null
          : act('lost', 'Try on lost problems', 'Repeats the trial on the problems that the last evaluation lost', {
              type: 'lost',
            }),
        prompt === null
          ? null
          : act('edit', 'Edit the prompt', 'Opens the tried prompt so that you can edit it', { type: 'edit' }),
        h('span', { class: 'muted', role: 'status' }, ...createTextNodes(kept === null ? '' : `Kept in ${kept}.`)),
      ),
    );
  }

  private flips(title: string, cases: readonly (ShownCase & { readonly index: number })[], all: number): HTMLElement {
    const some = cases.length < all ? `, the first ${count(cases.length)} are shown` : '';
    return h(
      'section',
      { 'aria-label': title },
      h('h2', {}, `${title} (${count(all)}${some})`),
      cases.length === 0
        ? h('p', { class: 'empty' }, 'None.')
        : h(
            'ul',
            {},
            ...Array.from(Map.groupBy(cases, ({ question }) => question).values(), (pairs) => this.flipped(pairs)),
          ),
    );
  }

  /** Creates a question that opens its first pair, with numbers that open the others. */
  private flipped(pairs: readonly NumberedCase[]): HTMLElement {
    const link = ({ question, index, before, after }: NumberedCase, at: number): HTMLElement => {
      const returns = `${formatReturnValue(before)} → ${formatReturnValue(after)}`;
      return linkButton(
        () => this.host.post({ type: 'openCase', index }),
        { 'data-key': `case-${index}`, title: `Compare what was said: ${returns}` },
        ...(at === 0 ? createTextNodes(question.slice(0, QUESTION)) : [`pair ${count(at + 1)}`]),
      );
    };
    const [first] = pairs;
    return h(
      'li',
      {},
      h(
        'span',
        { class: 'trial-returns' },
        first === undefined ? '' : `${formatReturnValue(first.before)} → ${formatReturnValue(first.after)}`,
      ),
      h('span', { class: 'trial-pairs' }, ...pairs.map(link)),
    );
  }
}

/** Creates the table of the returns and the costs of both sides. */
function createSidesTable(trial: ShownTrial): HTMLElement {
  const { problems, tokens, costs, contexts, evaluatorCalls, seconds, masked, difference } = trial;
  const means = computeMeanReturns(trial);
  const mean = (side: 'before' | 'after'): string => means?.[side].toFixed(3) ?? 'not measured';
  const row = (name: string, before: string, after: string): HTMLElement =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, name),
      h('td', { class: 'number' }, before),
      h('td', { class: 'number' }, after),
    );
  const unscored = masked === 0 ? '' : ` ${count(masked)} more pairs could not be scored and are left out.`;
  return h(
    'section',
    { 'aria-label': 'Both sides' },
    h('h2', {}, 'Both sides'),
    h(
      'table',
      { 'aria-label': 'Both sides' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('td', {}),
          h('th', { scope: 'col', class: 'number' }, 'Without'),
          h('th', { scope: 'col', class: 'number' }, 'With'),
        ),
      ),
      h(
        'tbody',
        {},
        row('Mean return', mean('before'), mean('after')),
        areTokensKnown(trial) ? row('Tokens generated', count(tokens.before), count(tokens.after)) : null,
        costs === undefined ? null : row('Servers', describeServerCost(costs.before), describeServerCost(costs.after)),
      ),
    ),
    h(
      'p',
      { class: 'muted' },
      keepUnits(
        `${count(difference.n)} pairs on ${count(problems.length)} of ${count(contexts)} problems; ` +
          `${count(evaluatorCalls)} evaluator calls, ${duration(seconds)}.${unscored}`,
      ),
    ),
  );
}

function createReturns({ problems, most }: ShownTrial): HTMLElement | null {
  if (problems.length === 0) {
    return null;
  }
  const ordered = problems.toSorted((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
  const left = ordered.length - MOST_ROWS;
  return h(
    'section',
    { 'aria-label': 'Returns by problem' },
    h('h2', {}, 'Returns by problem'),
    drawScatter(problems, most),
    h(
      'details',
      {},
      h('summary', {}, `Table (${count(problems.length)})`),
      h(
        'table',
        { 'aria-label': 'Returns by problem' },
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            h('th', { scope: 'col' }, 'Problem'),
            ...['Pairs', 'Without', 'With'].map((name) => h('th', { scope: 'col', class: 'number' }, name)),
          ),
        ),
        h('tbody', {}, ...ordered.slice(0, MOST_ROWS).map(problemRow)),
      ),
      left > 0 ? h('p', { class: 'muted' }, `and ${count(left)} more whose returns differ less`) : null,
    ),
  );
}

function problemRow({ question, pairs, before, after }: TrialProblem): HTMLElement {
  return h(
    'tr',
    {},
    h('td', {}, ...createTextNodes(question)),
    ...[count(pairs), formatReturnValue(before), formatReturnValue(after)].map((cell) =>
      h('td', { class: 'number' }, cell),
    ),
  );
}
