/** The columns of the runs table. */

import type { Interval } from '../../src/domain/credit.ts';
import { SETTING_PREFIX, type RunColumn, type RunTableRow } from '../../src/shared/protocols/runsTable.ts';
import { showInvisibleControls } from '../../src/shared/text/visible.ts';
import { h } from '../common/dom.ts';
import { count, duration, formatPercent1, formatPercentBounds } from '../common/format.ts';
import { createTextNodes } from '../common/shownText.ts';

export interface TableColumn {
  /** Name of the value that the column sorts by. */
  readonly name: string;
  readonly title: string;
  readonly meaning: string;
  readonly numeric: boolean;
  /** True if the first sort by this column puts larger values first. */
  readonly descending: boolean;
  readonly cell: (row: RunTableRow) => HTMLElement | string;
}

/** Creates an element with text of the user. A long text is cut off, and its tooltip shows all of it. */
const createSettingCell = (words: string): HTMLElement =>
  h('span', { class: 'setting', title: showInvisibleControls(words) }, ...createTextNodes(words));

const createMissingCell = (title: string): HTMLElement => h('span', { class: 'muted', title }, '–');

function createIntervalCell(value: Interval | null): HTMLElement {
  if (value === null) {
    return createMissingCell('not measured');
  }
  return h(
    'span',
    { class: 'interval', title: formatPercentBounds(value) },
    h('span', {}, formatPercent1(value.value)),
    h('span', { class: 'muted bounds' }, formatPercentBounds(value).replace(/, n = .*$/u, '')),
  );
}

function createCountCell(value: number | null): HTMLElement | string {
  return value === null ? createMissingCell('unknown so far') : count(value);
}

const makeOutcomeColumn = (
  name: RunColumn,
  title: string,
  meaning: string,
  of: (row: RunTableRow) => Interval | null,
): TableColumn => ({
  name,
  title,
  meaning,
  numeric: true,
  descending: true,
  cell: (row) => createIntervalCell(of(row)),
});

/** Columns with the outcomes of a run. They come before its settings. */
export const OUTCOME_COLUMNS: readonly TableColumn[] = [
  makeOutcomeColumn(
    'accuracyBefore',
    'Accuracy before',
    'Greedy accuracy before training, with its 95 % interval',
    ({ accuracyBefore }) => accuracyBefore,
  ),
  makeOutcomeColumn(
    'accuracyAfter',
    'Accuracy after',
    'Greedy accuracy after training, with its 95 % interval',
    ({ accuracyAfter }) => accuracyAfter,
  ),
  makeOutcomeColumn(
    'passAt1Before',
    'pass@1 before',
    'Accuracy of sampled answers before training, with its 95 % interval',
    ({ passAt1Before }) => passAt1Before,
  ),
  makeOutcomeColumn(
    'passAt1After',
    'pass@1 after',
    'Accuracy of sampled answers after training, with its 95 % interval',
    ({ passAt1After }) => passAt1After,
  ),
];

/** Columns that distinguish runs besides their settings. */
export const OWN_COLUMNS: readonly TableColumn[] = [
  {
    name: 'method',
    title: 'Method',
    meaning: 'How messages are credited',
    numeric: false,
    descending: false,
    cell: ({ method }) => showInvisibleControls(method),
  },
  {
    name: 'seed',
    title: 'Seed',
    meaning: 'The seed of all randomness in the run',
    numeric: true,
    descending: false,
    cell: ({ seed }) => String(seed),
  },
  {
    name: 'tags',
    title: 'Tags',
    meaning: 'What you tagged the run with',
    numeric: false,
    descending: false,
    cell: ({ tags }) => (tags.length === 0 ? createMissingCell('no tags') : createSettingCell(tags.join(', '))),
  },
];

/** Columns with the progress and the cost of a run. */
export const COST_COLUMNS: readonly TableColumn[] = [
  {
    name: 'status',
    title: 'Status',
    meaning: 'Status of the run',
    numeric: false,
    descending: false,
    cell: ({ status }) => h('span', { class: `status status-${status}` }, status),
  },
  {
    name: 'steps',
    title: 'Steps',
    meaning: 'Finished steps out of those planned',
    numeric: true,
    descending: true,
    cell: ({ steps, plannedSteps }) => `${count(steps)} / ${count(plannedSteps)}`,
  },
  {
    name: 'evaluatorCalls',
    title: 'Calls',
    meaning: 'Evaluator calls so far',
    numeric: true,
    descending: true,
    cell: ({ evaluatorCalls }) => createCountCell(evaluatorCalls),
  },
  {
    name: 'tokens',
    title: 'Tokens',
    meaning: 'Tokens computed so far: prompts without what was reused, and messages',
    numeric: true,
    descending: true,
    cell: ({ tokens }) => createCountCell(tokens),
  },
  {
    name: 'seconds',
    title: 'Time',
    meaning: 'Time of training so far, evaluations left out',
    numeric: true,
    descending: true,
    cell: ({ seconds }) => (seconds === null ? createMissingCell('unknown so far') : duration(seconds)),
  },
  {
    name: 'createdAt',
    title: 'Started',
    meaning: 'When the run started',
    numeric: false,
    descending: true,
    cell: ({ createdAt }) => new Date(createdAt).toLocaleString(),
  },
];

/** Creates the column of a setting. */
export function settingColumn(key: string): TableColumn {
  return {
    name: `${SETTING_PREFIX}${key}`,
    title: key,
    meaning: `The setting ${key}`,
    numeric: false,
    descending: false,
    cell: ({ settings }) => {
      const value = Object.hasOwn(settings, key) ? settings[key] : undefined;
      if (value === undefined) {
        return createMissingCell('not set in this run');
      }
      const words = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
      return createSettingCell(words);
    },
  };
}
