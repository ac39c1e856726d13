/**
 * Shows the text of a message, as prose, code and mathematics or exactly as written, with the words of
 * a search highlighted.
 */

import { h } from '../../common/dom.ts';
import { createTextNodes } from '../../common/shownText.ts';
import { splitByHits } from '../highlight.ts';
import type { WithMathematics } from './formulas.ts';
import { splitSegments, type Segment } from './segments.ts';

/** Largest numbers of search hits and of codes for invisible characters that are marked in a text. */
export const MOST_MARKS = 1_000;
const MOST_CODES = 2_000;

export interface TextLook {
  /** True to show the exact text in a monospace font. */
  readonly asWritten: boolean;
  /** The words of the search; empty without a search. */
  readonly query: string;
}

export class MessageText {
  readonly element = h('div', { class: 'message-text', role: 'group', 'aria-label': 'Text', tabindex: 0 });
  private readonly text: string;
  private readonly code: boolean;
  private readonly mathematics: WithMathematics;
  private firstHit: HTMLElement | null = null;
  /** True if the first hit is to stay in view when formulas are set. */
  private sought = false;
  private left = { marks: 0, codes: 0 };

  /** @param code true if a text without code blocks is code as a whole */
  constructor(text: string, code: boolean, look: TextLook, mathematics: WithMathematics) {
    this.text = text;
    this.code = code;
    this.mathematics = mathematics;
    this.show(look);
  }

  /** Redraws the text with another look. */
  show({ asWritten, query }: TextLook): void {
    this.left = { marks: MOST_MARKS, codes: MOST_CODES };
    this.firstHit = null;
    this.sought = false;
    const segments = asWritten ? [] : splitSegments(this.text);
    const whole = asWritten || (this.code && !segments.some(({ kind }) => kind === 'block'));
    this.element.classList.toggle('as-written', whole);
    const formulas: { readonly segment: Segment; readonly element: HTMLElement }[] = [];
    this.element.replaceChildren(
      ...(whole ? this.words(this.text, query) : segments.flatMap((segment) => this.piece(segment, query, formulas))),
    );
    if (formulas.length === 0) {
      return;
    }
    this.mathematics((set) => {
      for (const { segment, element } of formulas) {
        const formula = set(segment.text, segment.display);
        if (formula === null) {
          continue;
        }
        element.classList.add(segment.display ? 'display-formula' : 'line-formula');
        element.setAttribute('data-written', segment.written);
        element.replaceChildren(formula);
      }
      if (this.sought) {
        this.firstHit?.scrollIntoView({ block: 'nearest' });
      }
    });
  }

  /** Scrolls the first search hit into view. */
  seekHit(): void {
    this.sought = true;
    this.firstHit?.scrollIntoView({ block: 'nearest' });
  }

  private piece(
    segment: Segment,
    query: string,
    formulas: { readonly segment: Segment; readonly element: HTMLElement }[],
  ): readonly (HTMLElement | string)[] {
    const { kind, text, written, language } = segment;
    switch (kind) {
      case 'prose':
        return this.words(written, query);
      case 'code':
        return [h('code', { class: 'code-span' }, ...this.words(text, query))];
      case 'block':
        return [
          h(
            'pre',
            { class: 'code-block', 'data-language': language === '' ? null : language },
            h('code', {}, ...this.words(text, query)),
          ),
        ];
      case 'formula': {
        // The formula is shown as written until it is set.
        const element = h('span', {}, written);
        formulas.push({ segment, element });
        return [
          this.left.marks > 0 && splitByHits(written, query, 1).some(({ hit }) => hit) ? this.mark([element]) : element,
        ];
      }
    }
  }

  private words(text: string, query: string): readonly (HTMLElement | string)[] {
    return splitByHits(text, query, this.left.marks).flatMap(({ text: part, hit }) => {
      const nodes = createTextNodes(part, this.left.codes);
      this.left.codes -= nodes.filter((node) => typeof node !== 'string').length;
      return hit ? [this.mark(nodes)] : nodes;
    });
  }

  private mark(nodes: readonly (HTMLElement | string)[]): HTMLElement {
    const element = h('mark', {}, ...nodes);
    this.left.marks--;
    this.firstHit ??= element;
    return element;
  }
}
