/** Creates and changes elements. All text is inserted as text nodes, never as markup. */

export type Child = Node | string | null;

/** Attributes by name; null omits one. The content policy refuses style: set `element.style`. */
export type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/** Creates an HTML element with attributes and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Sets attributes: true sets an empty attribute; false and null remove the attribute. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) {
      element.removeAttribute(name);
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/** Appends the children that are not null. */
export function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child !== null) {
      element.append(child);
    }
  }
}

/** Replaces all children of an element with these. */
export function replace(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== null));
}

/**
 * Makes the elements the only children of the parent, in this order. Children that are in the right
 * place already are not moved, so that a click that began on one still reaches it.
 */
export function arrange(parent: Element, elements: readonly Element[]): void {
  const wanted = new Set(elements);
  for (const child of Array.from(parent.children)) {
    if (!wanted.has(child)) {
      child.remove();
    }
  }
  elements.forEach((element, index) => {
    const there = parent.children[index];
    if (there !== element) {
      parent.insertBefore(element, there ?? null);
    }
  });
}

/**
 * Returns the focused element inside an element. Returns null while another part of the editor has the
 * focus: redrawing must not take the focus from it.
 */
export function focusedIn(element: Element): Element | null {
  const { activeElement } = document;
  return document.hasFocus() && activeElement !== null && element.contains(activeElement) ? activeElement : null;
}

/** Redraws an element, then restores the focus to the descendant with the same `data-key`. */
export function redrawWithFocus(element: Element, draw: () => void): void {
  const key = focusedIn(element)?.getAttribute('data-key') ?? null;
  draw();
  if (key !== null) {
    element.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
  }
}

const SVG = 'http://www.w3.org/2000/svg';

/** Creates an SVG element with attributes. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  return element;
}

/** Paths on a 16 x 16 grid, stroked with the current color. */
const ICONS = {
  chevron: 'M6 4l4 4-4 4',
  check: 'M3 8.5l3.2 3.2L13 5',
  cross: 'M4 4l8 8M12 4l-8 8',
  masked: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 11.8l7.6-7.6',
  none: 'M5 8h6',
  pencil: 'M3 13l.8-3.2 7-7 2.4 2.4-7 7z',
  open: 'M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  branch: 'M5 3v10M5 10.5c0-3 6-1.5 6-5M9.6 4a1.4 1.4 0 1 0 2.8 0 1.4 1.4 0 1 0-2.8 0z',
} as const;

export type IconName = keyof typeof ICONS;

/** Creates an icon. It is hidden from assistive technology, so show words beside it. */
export function icon(name: IconName): SVGSVGElement {
  const drawing = svg('svg', {
    viewBox: '0 0 16 16',
    width: 16,
    height: 16,
    class: `icon icon-${name}`,
    'aria-hidden': 'true',
    focusable: 'false',
  });
  const path = svg('path', {
    d: ICONS[name],
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': '1.4',
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  });
  drawing.append(path);
  return drawing;
}

/**
 * Returns the element with this id.
 * @throws Error if the page has no such element, which is a fault in the page's HTML
 */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) {
    throw new Error(`The page has no element "${id}".`);
  }
  return element;
}

/** Creates a button that looks like a link. */
export function linkButton(
  onClick: () => void,
  attributes: Attributes,
  ...children: readonly Child[]
): HTMLButtonElement {
  const element = h('button', { class: 'link', type: 'button', ...attributes }, ...children);
  element.addEventListener('click', onClick);
  return element;
}

/** Creates a badge. The toolkit's badge has an inline style, which the content policy refuses. */
export function badge(label: string, tone: 'plain' | 'bad' = 'plain', title: string | null = null): HTMLElement {
  return h('span', { class: `badge badge-${tone}`, title }, label);
}
