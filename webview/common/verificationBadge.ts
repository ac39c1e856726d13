/** Shows the result of re-executing a replay: an icon and a few words, with the reason in the tooltip. */

import type { VerificationMark } from '../../src/domain/verification.ts';
import { h, icon, type IconName } from './dom.ts';

const ICONS: Readonly<Record<VerificationMark['state'], IconName>> = {
  identical: 'check',
  different: 'cross',
  notComparable: 'none',
  unverified: 'open',
};

/** Describes the mark in one sentence: `replay differs at token 5: message 12 differs at token 5`. */
export function describeVerificationMark({ label, detail }: VerificationMark): string {
  return `replay ${label}: ${detail}`;
}

/** Creates the badge of a mark. The icon and the words show its state, never the color alone. */
export function verificationBadge(mark: VerificationMark): HTMLElement {
  return h(
    'span',
    { class: `verification verification-${mark.state}`, title: describeVerificationMark(mark) },
    icon(ICONS[mark.state]),
    h('span', {}, mark.label),
    h('span', { class: 'for-readers' }, `: ${mark.detail}`),
  );
}
