/** As much of a document as the transcript tree needs: elements without layout, one that scrolls over its child's height, and frames that a test draws. */

type Listener = (event: unknown) => void;

export class FakeElement {
  readonly tag: string;
  readonly attributes = new Map<string, string>();
  readonly style: Record<string, string> = {};
  readonly dataset: Record<string, string> = {};
  readonly classes = new Set<string>();
  readonly classList = { toggle: (name: string, on: boolean) => { if (on) this.classes.add(name); else this.classes.delete(name); } };
  children: (FakeElement | string)[] = [];
  parent: FakeElement | null = null;
  clientHeight = 0;
  private readonly listeners = new Map<string, Listener[]>();
  private scrolled = 0;

  constructor(tag: string) {
    this.tag = tag;
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
    if (name === 'class') for (const word of value.split(' ')) this.classes.add(word);
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  hasAttribute(name: string): boolean {
    return this.attributes.has(name);
  }

  append(...children: readonly (FakeElement | string)[]): void {
    for (const child of children) if (child instanceof FakeElement) child.parent = this;
    this.children.push(...children);
  }

  replaceChildren(...children: readonly (FakeElement | string)[]): void {
    this.children = [];
    this.append(...children);
  }

  remove(): void {
    if (this.parent !== null) this.parent.children = this.parent.children.filter((child) => child !== this);
    this.parent = null;
  }

  /** The nearest element that wears a class. */
  closest(selector: string): FakeElement | null {
    return this.classes.has(selector.slice(1)) ? this : this.parent?.closest(selector) ?? null;
  }

  addEventListener(type: string, listener: Listener): void {
    this.listeners.set(type, [...this.listeners.get(type) ?? [], listener]);
  }

  fire(type: string, event: object = {}): void {
    for (const listener of this.listeners.get(type) ?? []) listener({ target: this, preventDefault: () => undefined, ...event });
  }

  /** As in a browser: never beyond what there is, looked at anew whenever it is asked for. */
  get scrollTop(): number {
    const [canvas] = this.children;
    const height = canvas instanceof FakeElement ? Number.parseFloat(canvas.style['height'] ?? '0') : 0;
    this.scrolled = Math.max(0, Math.min(this.scrolled, height - this.clientHeight));
    return this.scrolled;
  }

  set scrollTop(pixels: number) {
    this.scrolled = pixels;
  }
}

const frames: (() => void)[] = [];

/** Puts the stand-ins where modules look for a browser. */
export function installDocument(): void {
  Object.assign(globalThis, {
    Element: FakeElement,
    document: { createElement: (tag: string) => new FakeElement(tag), createElementNS: (_: string, tag: string) => new FakeElement(tag) },
    ResizeObserver: class { readonly observe = (): void => undefined; },
    requestAnimationFrame: (work: () => void) => frames.push(work),
  });
}

/** Draws the frame that was asked for. */
export function nextFrame(): void {
  for (const work of frames.splice(0)) work();
}
