/** Shows a word of the glossary. Its explanation is visible while the word is hovered over or focused. */

import { GLOSSARY, type TermName } from '../../src/shared/text/glossary.ts';
import { h } from './dom.ts';

/** Pixels between a word and its explanation, and between the explanation and the edge of the page. */
const GAP = 4;
/** Milliseconds in which the pointer may cross from a word to its explanation. */
const CROSSING = 150;

/** The explanation on screen. A page has only one. */
class Explanation {
  private readonly element = h('div', { class: 'explanation', role: 'tooltip' });
  private word: HTMLElement | null = null;
  /** Position of the word when its explanation was placed. */
  private at = { left: 0, top: 0 };
  private leaving: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.element.addEventListener('pointerenter', () => clearTimeout(this.leaving));
    this.element.addEventListener('pointerleave', () => this.leave());
    document.addEventListener(
      'keydown',
      (event) => {
        if (event.key !== 'Escape' || this.word === null) {
          return;
        }
        // Escape closes only the explanation, not what contains the word.
        event.stopPropagation();
        this.hide();
      },
      true,
    );
    document.addEventListener('scroll', () => this.follow(), true);
  }

  show(word: HTMLElement, name: TermName): void {
    clearTimeout(this.leaving);
    this.word = word;
    const { name: term, meaning } = GLOSSARY[name];
    this.element.replaceChildren(h('strong', {}, term), ` ${meaning}`);
    document.body.append(this.element);
    const at = word.getBoundingClientRect();
    this.at = { left: at.left, top: at.top };
    const { offsetWidth, offsetHeight } = this.element;
    const left = Math.max(GAP, Math.min(at.left, window.innerWidth - offsetWidth - GAP));
    const below = at.bottom + GAP;
    const top = below + offsetHeight + GAP <= window.innerHeight ? below : Math.max(GAP, at.top - offsetHeight - GAP);
    this.element.style.left = `${left}px`;
    this.element.style.top = `${top}px`;
  }

  /** Hides the explanation if scrolling moved its word, because it would then be beside another word. */
  private follow(): void {
    if (this.word === null) {
      return;
    }
    const { left, top } = this.word.getBoundingClientRect();
    if (!this.word.isConnected || left !== this.at.left || top !== this.at.top) {
      this.hide();
    }
  }

  /** Hides the explanation soon, after the pointer has left the word. */
  leave(): void {
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => this.hide(), CROSSING);
  }

  hide(): void {
    clearTimeout(this.leaving);
    this.word = null;
    this.element.remove();
  }
}

let explanation: Explanation | undefined;

/** Creates a word of the glossary. @param words the text shown; the name of the word by default */
export function term(name: TermName, words: string = GLOSSARY[name].name): HTMLElement {
  const { meaning } = GLOSSARY[name];
  const element = h('button', { type: 'button', class: 'term', 'aria-description': meaning }, words);
  explanation ??= new Explanation();
  const shared = explanation;
  const show = (): void => shared.show(element, name);
  element.addEventListener('pointerenter', show);
  element.addEventListener('focus', show);
  // On a touch screen, a tap shows the explanation.
  element.addEventListener('click', show);
  element.addEventListener('pointerleave', () => {
    if (document.activeElement !== element) {
      shared.leave();
    }
  });
  element.addEventListener('blur', () => shared.hide());
  return element;
}
