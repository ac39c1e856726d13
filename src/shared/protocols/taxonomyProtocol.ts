/** Messages between the extension host and the failure taxonomy panel. */

import {
  LABEL_FILTERS,
  NOTE_LIMIT,
  THRESHOLD_LIMITS,
  VERDICTS,
  type CaseLabel,
  type TaxonomyView,
} from '../../domain/taxonomy.ts';
import type { Headline } from '../credit/headline.ts';
import { holdingKeys, integer, literal, nullable, number, object, text, type Guarded } from '../guard.ts';
import type { Events, Panel, ToHost } from './panel.ts';
import type { ReplyMessage, Requests } from './requests.ts';

/** Cases listed at first, and with each "Show more". */
export const CASES_SHOWN = 50;
/** Most cases that are listed; above this number a filter is more useful. */
export const CASES_MOST = 2000;
/** Characters of a message in the alternatives of a case. */
export const ALTERNATIVE_PREVIEW = 600;

const isThresholds = object({
  shift: number(0, THRESHOLD_LIMITS.shift),
  ambiguity: number(0, THRESHOLD_LIMITS.ambiguity),
  misleading: number(0, THRESHOLD_LIMITS.misleading),
  significance: number(0, THRESHOLD_LIMITS.significance),
});

const isFilter = object({
  verdict: nullable(literal(...VERDICTS)),
  role: nullable(text(200)),
  labels: literal(...LABEL_FILTERS),
});

// A surrogate pair is one character and two units.
const isDraft = object({ bucket: integer(), name: text(400), note: text(2 * NOTE_LIMIT) });

/** The state that the panel keeps across a reload: the view and typed text, but no counts. */
export const isTaxonomyState = object({
  version: literal(2),
  run: text(200),
  filter: isFilter,
  limit: integer(1, CASES_MOST),
  opened: nullable(integer()),
  finding: nullable(text(100)),
  draft: nullable(isDraft),
  scroll: integer(),
});
export type LabelDraft = Guarded<typeof isDraft>;

/** One case with its details. */
export interface CaseDetail {
  readonly bucket: number;
  readonly alternatives: readonly CaseAlternative[];
  /** Oldest first. */
  readonly labels: readonly CaseLabel[];
}

export interface CaseAlternative {
  readonly message: number;
  /** The first ALTERNATIVE_PREVIEW characters. */
  readonly text: string;
  readonly cut: boolean;
  /** True for the message that was really said. */
  readonly real: boolean;
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
  /** The credit of the message, the same as everywhere; null if none is known. */
  readonly credit: Headline | null;
}

export type TaxonomyFromHost =
  | { readonly type: 'opened'; readonly run: string; readonly title: string; readonly subtitle: string }
  | { readonly type: 'working' }
  | { readonly type: 'view'; readonly view: TaxonomyView }
  | ReplyMessage
  /** The current number of buckets of the run. */
  | { readonly type: 'grown'; readonly buckets: number }
  | { readonly type: 'failed'; readonly message: string };

/** The requests of the page. */
export const TAXONOMY_REQUESTS = {
  case: {
    asked: object({ bucket: integer() }),
    answer: holdingKeys<CaseDetail>({ bucket: true, alternatives: true, labels: true }),
  },
  /** An empty name removes the label. The answer is why it cannot be written, or null if it was. */
  label: {
    asked: object({ bucket: integer(), name: text(400), note: text(2 * NOTE_LIMIT) }),
    answer: nullable(text()),
  },
} as const satisfies Requests;

/** The events that the page sends. */
const TAXONOMY_EVENTS = {
  ready: { filter: isFilter, limit: integer(1, CASES_MOST) },
  show: { thresholds: isThresholds, filter: isFilter, limit: integer(1, CASES_MOST) },
  readAgain: {},
  open: { message: integer() },
} as const satisfies Events;

export const TAXONOMY_PANEL = {
  view: 'c3.taxonomy',
  title: 'Failure taxonomy',
  bundle: 'taxonomy',
  icon: 'tab',
  events: TAXONOMY_EVENTS,
  requests: TAXONOMY_REQUESTS,
} as const satisfies Panel;

export type TaxonomyToHost = ToHost<typeof TAXONOMY_PANEL>;
