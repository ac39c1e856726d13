/** Dropdowns whose choices and value may change while the user has them open. */

import { replace } from './dom.ts';
import { dropdown, option, type Dropdown, type Option } from './toolkit.ts';

export type Choice = readonly [value: string, words: string];

/**
 * A dropdown of the toolkit with the keyboard of a native list: Escape restores the value, and Tab
 * keeps the one reached. Choices and values that are set while the list is open are shown when it
 * closes.
 */
export class Chooser {
  readonly element: Dropdown;
  private readonly onChoose: (value: string) => void;
  private offered: readonly Choice[] = [];
  private wanted = '';
  /** The choices in the element, serialized. */
  private drawn = '';
  private options: Option[] = [];
  /** The value in the element when it was last read or set. */
  private shown = '';

  /**
   * @param onChoose receives each other value that the user chooses
   * @param leave called at Escape while the list is closed
   */
  constructor(
    label: string,
    onChoose: (value: string) => void,
    { choices = [], leave }: { readonly choices?: readonly Choice[]; readonly leave?: () => void } = {},
  ) {
    this.element = dropdown(label);
    this.onChoose = onChoose;
    this.element.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape') {
        return;
      }
      if (this.element.open) {
        // The toolkit would choose the option that the arrow keys reached.
        this.element.value = this.shown;
      } else {
        leave?.();
      }
    });
    // The toolkit fires no change event at Tab, nor for a value that it had when it was last open, and
    // fires one without a change at other keys.
    for (const event of ['change', 'keyup']) {
      this.element.addEventListener(event, () => this.settle());
    }
    new MutationObserver(() => {
      if (this.element.open) {
        // The list is at most half as wide as the page, so it fits on one of the two sides.
        const { left, right } = this.element.getBoundingClientRect();
        this.element.classList.toggle('at-end', left > document.documentElement.clientWidth - right);
      } else {
        this.settle();
      }
    }).observe(this.element, { attributes: true, attributeFilter: ['open'] });
    this.choices = choices;
  }

  /** The choices. The value stays, or becomes the first choice if it is none of them. */
  set choices(choices: readonly Choice[]) {
    this.offered = choices;
    this.draw();
  }

  get value(): string {
    return this.offered.some(([value]) => value === this.wanted) ? this.wanted : (this.offered[0]?.[0] ?? '');
  }

  /** Sets the value without calling `onChoose`. */
  set value(value: string) {
    this.wanted = value;
    this.draw();
  }

  private settle(): void {
    const { open, value } = this.element;
    if (open) {
      return;
    }
    const chosen = value !== this.shown;
    if (chosen) {
      this.wanted = value;
    }
    this.draw();
    if (chosen) {
      this.onChoose(value);
    }
  }

  private draw(): void {
    if (this.element.open) {
      return;
    }
    const choices = JSON.stringify(this.offered);
    if (choices !== this.drawn) {
      this.drawn = choices;
      this.options = this.offered.map(([value, words]) => option(value, words));
      replace(this.element, ...this.options);
      if (this.element.isConnected) {
        // The toolkit finds its options only later, and until then would look for the value among the
        // old ones. Outside the page it has none, and keeps the value for them.
        this.element.options = this.options;
        this.element.selectedIndex = -1;
      }
    }
    this.element.value = this.value;
    this.shown = this.element.value;
  }
}
