/** Builders for elements. Text always arrives as text nodes, so nothing shown is ever read as markup. */

export type Child = Node | string | null;

/**
 * Attributes by name; null leaves one out. Style attributes are refused by the content policy: set `element.style`
 * instead.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/** A new HTML element with attributes and children. */
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

/** Sets attributes; true becomes an empty attribute, false and null remove it. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) {
      element.removeAttribute(name);
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/** Appends what is not null. */
export function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child !== null) {
      element.append(child);
    }
  }
}

/** Puts these children in place of all others. */
export function replace(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== null));
}

/**
 * Makes elements the children of another, in order. Those that are right already are not touched: a click that began
 * on one still hits it.
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
 * What has the keyboard within an element; null while another part of the editor has it, from which nothing drawn anew
 * may take it.
 */
export function focusedIn(element: Element): Element | null {
  const { activeElement } = document;
  return document.hasFocus() && activeElement !== null && element.contains(activeElement) ? activeElement : null;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Shapes on a 16 x 16 grid, drawn with the current colour. */
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

/** A small line drawing; hidden from assistive technology, so words must be beside it. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  setAttributes(svg, {
    viewBox: '0 0 16 16',
    width: 16,
    height: 16,
    class: `icon icon-${name}`,
    'aria-hidden': 'true',
    focusable: 'false',
  });
  const path = document.createElementNS(SVG, 'path');
  setAttributes(path, {
    d: ICONS[name],
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': '1.4',
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  });
  svg.append(path);
  return svg;
}

/** The element with this id in the page; the page is ours, so its absence is a fault of ours. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) {
    throw new Error(`The page has no element "${id}".`);
  }
  return element;
}

/**
 * A short word set off from its surroundings. Not the toolkit's badge, which carries an inline style that the content
 * policy refuses.
 */
export function badge(label: string, tone: 'plain' | 'bad' = 'plain', title: string | null = null): HTMLElement {
  return h('span', { class: `badge badge-${tone}`, title }, label);
}
