/** Which element of a page has the keyboard when the page is opened or shown again and nothing else in it has it. */

export class KeyboardHome {
  private readonly element: HTMLElement;
  /** The keyboard belongs to the element as soon as the editor gives it to this page. */
  private wanted = true;

  constructor(element: HTMLElement) {
    this.element = element;
    window.addEventListener('focus', () => this.arrive());
  }

  /** Moves the keyboard to the element, also where the editor gave it to the frame around this page and no further. */
  take(): void {
    this.element.focus();
    this.wanted = !document.hasFocus();
  }

  /** Moves the keyboard to the element where the page has it and no part of the page does. */
  offer(): void {
    if (document.hasFocus()) {
      this.arrive();
    }
  }

  private arrive(): void {
    const { activeElement, body } = document;
    const free = activeElement === null || activeElement === body;
    if (this.wanted || free) {
      this.element.focus();
    }
    this.wanted = false;
  }
}
