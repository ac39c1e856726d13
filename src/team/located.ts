/** Locations of the keys and values of a YAML document. */

import { isAlias, isMap, isNode, isScalar, isSeq, type Document, type Node } from 'yaml';

/** The path of a value: keys and list indices from the top. */
export type KeyPath = readonly (string | number)[];

/** A node of a document with its key; the key is null for the top and for an item of a list. */
export interface Located {
  readonly key: Node | null;
  readonly value: Node | null;
}

/** Finds nodes of one document. It reads each mapping once, however many paths lead into it. */
export class Locator {
  private readonly document: Document;
  private readonly pairs = new Map<Node, ReadonlyMap<string, Located>>();
  private readonly aliases = new Map<Node, Node | null>();

  constructor(document: Document) {
    this.document = document;
  }

  /** Returns the node at a path, or its deepest existing ancestor, with the depth reached. */
  find(path: KeyPath): Located & { readonly depth: number } {
    let found: Located = { key: null, value: nodeOrNull(this.document.contents) };
    for (const [depth, part] of path.entries()) {
      const next = this.below(this.resolved(found.value), part);
      if (next === null) {
        return { ...found, depth };
      }
      found = next;
    }
    return { ...found, depth: path.length };
  }

  private below(holder: Node | null, part: string | number): Located | null {
    if (isMap(holder)) {
      return this.pairsOf(holder).get(String(part)) ?? null;
    }
    const item: unknown = isSeq(holder) ? holder.items[Number(part)] : null;
    return isNode(item) ? { key: null, value: item } : null;
  }

  private pairsOf(holder: Node): ReadonlyMap<string, Located> {
    const known = this.pairs.get(holder);
    if (known !== undefined) {
      return known;
    }
    const pairs = new Map<string, Located>();
    for (const { key, value } of isMap(holder) ? holder.items : []) {
      const name = isScalar(key) ? String(key.value) : null;
      if (name !== null && !pairs.has(name)) {
        pairs.set(name, { key: nodeOrNull(key), value: nodeOrNull(value) });
      }
    }
    this.pairs.set(holder, pairs);
    return pairs;
  }

  private resolved(node: Node | null): Node | null {
    if (!isAlias(node)) {
      return node;
    }
    const known = this.aliases.get(node);
    if (known !== undefined) {
      return known;
    }
    const target = nodeOrNull(node.resolve(this.document));
    this.aliases.set(node, target);
    return target;
  }
}

function nodeOrNull(value: unknown): Node | null {
  return isNode(value) ? value : null;
}
