/**
 * Draws the protocol as a small map: the roles, which role sees which, and the place of the selected
 * message. A click on a role filters for it.
 */

import {
  findNode,
  placeNodes,
  type PlacedNode,
  type ProtocolGraph,
} from '../../src/shared/transcript/protocolGraph.ts';
import { h, replace, setAttributes, svg, type Attributes } from '../common/dom.ts';

const WIDTH = 104;
const HEIGHT = 20;
const GAP_X = 28;
const GAP_Y = 8;
const EDGE = 2;
/** Number of characters that fit into the box of a role. */
const LETTERS = 14;

export class ProtocolMap {
  readonly element = h('div', { class: 'protocol-map', role: 'group', 'aria-label': 'Protocol' });
  private readonly choose: (role: string) => void;
  private readonly boxes: { readonly node: PlacedNode; readonly element: SVGElement }[] = [];
  private drawn = '';
  private graph: ProtocolGraph | null = null;

  /** @param choose called when a role is clicked */
  constructor(choose: (role: string) => void) {
    this.choose = choose;
  }

  /** Draws a protocol, or nothing if it is null. */
  show(graph: ProtocolGraph | null): void {
    const name = JSON.stringify(graph);
    if (name === this.drawn) {
      return;
    }
    this.drawn = name;
    this.boxes.length = 0;
    this.graph = graph;
    this.element.hidden = graph === null;
    if (graph === null) {
      replace(this.element);
      return;
    }
    const placed = placeNodes(graph);
    const columns = Math.max(0, ...placed.map(({ column }) => column + 1));
    const rows = Math.max(0, ...placed.map(({ row }) => row + 1));
    const width = columns * (WIDTH + GAP_X) - GAP_X + 2 * EDGE;
    const height = rows * (HEIGHT + GAP_Y) - GAP_Y + 2 * EDGE;
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'presentation' });
    const edges = placed.flatMap((node) => node.parents.map((parent) => createEdge(placed[parent], node)));
    picture.append(
      ...edges.filter((line) => line !== null),
      ...placed.map((node) => (node.environment ? createEnvironmentBox(node) : this.box(node))),
    );
    const words = graph.rounds === undefined ? [] : [h('p', { class: 'protocol-rounds' }, graph.rounds.words)];
    replace(this.element, picture, ...words);
  }

  /** Marks the place of the selected message and the role of the filter. */
  mark(selected: { readonly role: string; readonly turn: number } | null, filtered: string | null): void {
    const place =
      selected === null || this.graph === null ? undefined : findNode(this.graph, selected.role, selected.turn);
    for (const { node, element } of this.boxes) {
      const here = node.id === place?.id;
      element.classList.toggle('here', here);
      element.classList.toggle('filtered', node.role === filtered);
      setAttributes(element, { 'aria-pressed': String(node.role === filtered), 'aria-current': here ? 'step' : null });
    }
  }

  private box(node: PlacedNode): SVGElement {
    const name = node.turn > 0 ? `${node.role} ${node.turn + 1}` : node.role;
    const words = `${name}${node.scored ? ', scored' : ''}: show only messages of ${node.role}`;
    const group = createLabeledBox(node, name, words, {
      class: node.scored ? 'node scored' : 'node',
      role: 'button',
      tabindex: 0,
    });
    group.addEventListener('click', () => this.choose(node.role));
    group.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') {
        return;
      }
      event.preventDefault();
      this.choose(node.role);
    });
    this.boxes.push({ node, element: group });
    return group;
  }
}

/** Creates the box of an environment. A click on it does nothing: there is no role to filter for. */
const createEnvironmentBox = (node: PlacedNode): SVGElement =>
  createLabeledBox(node, node.role, `${node.role}, environment${node.scored ? ', scored at the end' : ''}`, {
    class: node.scored ? 'environment scored' : 'environment',
    role: 'img',
  });

function createLabeledBox(node: PlacedNode, name: string, words: string, attributes: Attributes): SVGElement {
  const { x, y } = findCorner(node);
  const group = svg('g', { ...attributes, 'aria-label': words, transform: `translate(${x} ${y})` });
  const title = svg('title', {});
  title.textContent = words;
  const label = svg('text', { x: WIDTH / 2, y: HEIGHT / 2, 'text-anchor': 'middle', 'dominant-baseline': 'central' });
  const letters = Array.from(name);
  label.textContent = letters.length > LETTERS ? `${letters.slice(0, LETTERS - 1).join('')}…` : name;
  group.append(title, svg('rect', { width: WIDTH, height: HEIGHT, rx: node.environment ? HEIGHT / 2 : 3 }), label);
  return group;
}

function findCorner({ column, row }: PlacedNode): { readonly x: number; readonly y: number } {
  return { x: EDGE + column * (WIDTH + GAP_X), y: EDGE + row * (HEIGHT + GAP_Y) };
}

/** Creates an arrow from the right edge of one box to the left edge of another. */
function createEdge(from: PlacedNode | undefined, to: PlacedNode): SVGElement | null {
  if (from === undefined) {
    return null;
  }
  const start = findCorner(from);
  const end = findCorner(to);
  const x1 = start.x + WIDTH;
  const y1 = start.y + HEIGHT / 2;
  const x2 = end.x;
  const y2 = end.y + HEIGHT / 2;
  const middle = (x1 + x2) / 2;
  const path = `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}M${x2 - 5} ${y2 - 3}L${x2} ${y2}L${x2 - 5} ${y2 + 3}`;
  return svg('path', { class: 'edge', d: path });
}
