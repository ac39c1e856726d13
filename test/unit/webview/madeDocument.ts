/**
 * As much of a document as texts and the message tree need: elements without layout, one that scrolls over its
 * children's height, frames that a test draws. What would read markup is not there, and asking for it throws.
 */

import { registerHooks } from 'node:module';

const MARKUP: readonly PropertyKey[] = [
  'innerHTML',
  'outerHTML',
  'insertAdjacentHTML',
  'write',
  'writeln',
  'createContextualFragment',
  'setHTMLUnsafe',
  'parseHTMLUnsafe',
];

type Listener = (event: unknown) => void;

class MadeNode {
  parent: MadeElement | null = null;

  remove(): void {
    this.parent?.drop(this);
    this.parent = null;
  }
}

export class MadeText extends MadeNode {
  readonly textContent: string;

  constructor(text: string) {
    super();
    this.textContent = text;
  }
}

export class MadeElement extends MadeNode {
  childNodes: (MadeElement | MadeText)[] = [];
  readonly attributes = new Map<string, string>();
  readonly style: Record<string, string> = {};
  readonly dataset: Record<string, string> = {};
  readonly localName: string;
  readonly listeners = new Map<string, Listener[]>();
  hidden = false;
  scrolledTo = 0;
  clientHeight = 0;
  readonly offsetHeight = 0;
  private scrolled = 0;

  constructor(name: string) {
    super();
    this.localName = name;
  }

  get children(): readonly MadeElement[] {
    return this.childNodes.filter((child) => child instanceof MadeElement);
  }

  get className(): string {
    return this.attributes.get('class') ?? '';
  }

  set className(name: string) {
    this.attributes.set('class', name);
  }

  get classList(): { readonly toggle: (name: string, on: boolean) => void; readonly add: (name: string) => void } {
    const toggle = (name: string, on: boolean): void => {
      const others = this.className.split(' ').filter((present) => present !== '' && present !== name);
      this.className = (on ? [...others, name] : others).join(' ');
    };
    return { toggle, add: (name) => toggle(name, true) };
  }

  get textContent(): string {
    return this.childNodes.map(({ textContent }) => textContent).join('');
  }

  set textContent(text: string) {
    this.replaceChildren(...(text === '' ? [] : [text]));
  }

  get isConnected(): boolean {
    return true;
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  getAttribute(name: string): string | null {
    return this.attributes.get(name) ?? null;
  }

  append(...nodes: readonly (MadeElement | MadeText | string)[]): void {
    for (const node of nodes.flatMap((added) =>
      added instanceof MadeElement && added.localName === '#fragment' ? added.childNodes : [added],
    )) {
      const child = typeof node === 'string' ? new MadeText(node) : node;
      child.remove();
      child.parent = this;
      this.childNodes.push(child);
    }
  }

  appendChild(node: MadeElement | MadeText): void {
    this.append(node);
  }

  drop(node: MadeNode): void {
    this.childNodes = this.childNodes.filter((child) => child !== node);
  }

  replaceChildren(...nodes: readonly (MadeElement | MadeText | string)[]): void {
    this.childNodes = [];
    this.append(...nodes);
  }

  hasAttribute(name: string): boolean {
    return this.attributes.has(name);
  }

  /** The nearest element that has a class. */
  closest(selector: string): MadeElement | null {
    return this.className.split(' ').includes(selector.slice(1)) ? this : (this.parent?.closest(selector) ?? null);
  }

  addEventListener(name: string, listener: Listener): void {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }

  scrollIntoView(): void {
    this.scrolledTo++;
  }

  focus(): void {
    Object.assign(document, { activeElement: this });
  }

  /** The element and all within it. */
  all(): readonly MadeElement[] {
    return [this, ...this.children.flatMap((child) => child.all())];
  }

  /** Elements of a class within. */
  ofClass(name: string): readonly MadeElement[] {
    return this.all().filter(({ className }) => className.split(' ').includes(name));
  }

  click(): void {
    this.fire('click');
  }

  fire(type: string, event: object = {}): void {
    for (const listener of this.listeners.get(type) ?? []) {
      listener({ target: this, preventDefault: () => undefined, ...event });
    }
  }

  /** As in a browser: never beyond what there is, looked at anew whenever it is asked for. */
  get scrollTop(): number {
    const height = Math.max(...this.children.map(({ style }) => Number.parseFloat(style['height'] ?? '0')), 0);
    this.scrolled = Math.max(0, Math.min(this.scrolled, height - this.clientHeight));
    return this.scrolled;
  }

  set scrollTop(pixels: number) {
    this.scrolled = pixels;
  }
}

function guarded<T extends object>(target: T): T {
  return new Proxy(target, {
    get: (of, name) => {
      refuse(name);
      return Reflect.get(of, name, of) as unknown;
    },
    set: (of, name, value) => {
      refuse(name);
      return Reflect.set(of, name, value, of);
    },
  });
}

function refuse(name: PropertyKey): void {
  if (MARKUP.includes(name)) {
    throw new Error(`Texts are never markup: ${String(name)}.`);
  }
}

const frames: (() => void)[] = [];

/** Draws the frame that was asked for. */
export function nextFrame(): void {
  for (const work of frames.splice(0)) {
    work();
  }
}

/** An observer that observes nothing. */
class Unmoved {
  readonly observe = (): void => undefined;
}

/** Puts plain elements in the place of the toolkit's controls, which need a browser. */
export function makeToolkit(): void {
  const controls = ['Button', 'Checkbox', 'Dropdown', 'Option', 'TextArea', 'TextField'];
  const registrations = [...controls, 'Divider'].map((name) => `export const vsCode${name} = () => null;`);
  const toolkit = [
    ...controls.map((name) => `export const ${name} = globalThis.Element;`),
    ...registrations,
    'export const provideVSCodeDesignSystem = () => ({ register: () => undefined });',
  ].join('\n');
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === '@vscode/webview-ui-toolkit'
        ? { url: `data:text/javascript,${encodeURIComponent(toolkit)}`, shortCircuit: true }
        : next(specifier, context),
  });
}

/** Puts a document, and what a page has beside it, in their places. */
export function makeDocument(): void {
  for (const name of MARKUP) {
    const never = (): never => {
      throw new Error(`Texts are never markup: ${String(name)}.`);
    };
    Object.defineProperty(MadeElement.prototype, name, { get: never, set: never });
  }
  const document = guarded({
    compatMode: 'CSS1Compat',
    createElement: (name: string) => new MadeElement(name),
    createElementNS: (_: string, name: string) => new MadeElement(name),
    createTextNode: (text: string) => new MadeText(text),
    createDocumentFragment: () => new MadeElement('#fragment'),
  });
  Object.defineProperty(globalThis, 'document', { configurable: true, value: document });
  Object.assign(globalThis, {
    Element: MadeElement,
    HTMLElement: MadeElement,
    MutationObserver: Unmoved,
    ResizeObserver: Unmoved,
    requestAnimationFrame: (work: () => void) => frames.push(work),
  });
}
