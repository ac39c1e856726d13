/** A part of the page that opens from a button if space is short. CSS decides when that is. */

import { h } from '../common/dom.ts';

export class Drawer {
  /** Holds the content. */
  readonly element: HTMLElement;
  /** The button that opens and closes the drawer. It is hidden if there is room for the content. */
  readonly toggle: HTMLButtonElement;

  /** @param id id of the element, unique in the page */
  constructor(name: string, id: string, content: HTMLElement) {
    this.element = h('div', { class: 'drawer', id, tabindex: -1 }, content);
    const attributes = { class: 'link drawer-toggle', type: 'button', 'aria-expanded': 'false', 'aria-controls': id };
    this.toggle = h('button', attributes, name);
    this.toggle.addEventListener('click', () => this.show(!this.isOpen));
    for (const part of [this.element, this.toggle]) {
      part.addEventListener('keydown', (event) => {
        if (event.key !== 'Escape' || !this.isOpen || event.defaultPrevented) {
          return;
        }
        event.preventDefault();
        this.show(false);
        this.toggle.focus();
      });
      part.addEventListener('focusout', ({ relatedTarget }) => {
        const inside =
          relatedTarget instanceof Node &&
          (this.element.contains(relatedTarget) || this.toggle.contains(relatedTarget));
        if (!inside) {
          this.show(false);
        }
      });
    }
  }

  /** Opens or closes the drawer. */
  show(open: boolean): void {
    this.element.classList.toggle('open', open);
    this.toggle.setAttribute('aria-expanded', String(open));
  }

  /** The label of the button. */
  set name(words: string) {
    if (this.toggle.textContent !== words) {
      this.toggle.textContent = words;
    }
  }

  private get isOpen(): boolean {
    return this.toggle.getAttribute('aria-expanded') === 'true';
  }
}
