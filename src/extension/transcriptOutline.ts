/**
 * The layout of one transcript: the run's own tree with the branches that replay requests grew on it, depth first. It holds ids only;
 * what a row shows is read with its window.
 */
import type { StoreReader, TreeGroup } from '../store/reader.ts';
import type { Message } from '../shared/records.ts';
import { PREVIEW, WINDOW, type RowPlace, type TranscriptRow, type TranscriptTarget } from '../shared/transcriptProtocol.ts';
import { beginning } from '../shared/visible.ts';

/** What a layout is read from. */
export type OutlineReader = Pick<StoreReader, 'outline' | 'requestsOf' | 'messages' | 'instance'>;

/** A message as the outline keeps it. */
interface Node {
  readonly id: number;
  readonly branch: boolean;
  readonly children: Node[];
  readonly parent: Node | null;
  /** One-based, among all messages under the same parent, and their number; a filter changes neither. */
  readonly position: number;
  siblings: number;
  /** False where a filter left the message only because of what stands below it. */
  readonly match: boolean;
  /** Row index; 0 is the question. */
  index: number;
  depth: number;
  descendants: number;
}

interface Member {
  readonly id: number;
  readonly parent: number | null;
  readonly branch: boolean;
  /** Its place among all, where the members are a part of them. */
  readonly position?: number;
  readonly siblings?: number;
  readonly match?: boolean;
}

export class TranscriptOutline {
  /** Rows in all, the question included. */
  readonly rows: number;
  /** Another text whenever a message, a return or a credit was added. */
  readonly signature: string;
  /** Messages that match the filter. */
  readonly matching: number;
  /** The sampling groups whose messages stand here: the run's own, then those of replay requests. */
  readonly groups: readonly TreeGroup[];
  private readonly nodes: readonly Node[];
  private readonly byMessage: ReadonlyMap<number, Node>;

  private constructor(members: readonly Member[], signature: string, groups: readonly TreeGroup[]) {
    const byMessage = new Map<number, Node>();
    const roots: Node[] = [];
    for (const { id, parent: parentId, branch, position, siblings: count, match = true } of members) {
      const parent = parentId === null ? null : byMessage.get(parentId) ?? null;
      const siblings = parent?.children ?? roots;
      const node: Node = { id, branch, parent, match, position: position ?? siblings.length + 1, siblings: count ?? 0, children: [], index: 0, depth: (parent?.depth ?? 0) + 1, descendants: 0 };
      siblings.push(node);
      byMessage.set(id, node);
    }
    for (const nodes of [roots, ...[...byMessage.values()].map(({ children }) => children)]) for (const node of nodes) if (node.siblings === 0) node.siblings = nodes.length;
    this.byMessage = byMessage;
    this.nodes = numbered(roots);
    this.rows = this.nodes.length + 1;
    this.signature = signature;
    this.groups = groups;
    this.matching = this.nodes.reduce((sum, { match }) => sum + (match ? 1 : 0), 0);
  }

  /** Reads the layout of a transcript. @throws C3Error('store') when the store cannot be read */
  static read(reader: OutlineReader, target: TranscriptTarget): TranscriptOutline {
    const { run, instance } = target;
    const own = reader.outline(target);
    const members: Member[] = own.messages.map(({ id, parent }) => ({ id, parent, branch: target.phase === 'replay' }));
    const versions = [own.version];
    const groups: TreeGroup[] = [target];
    const ids = new Set(members.map(({ id }) => id));
    for (const { message, iteration } of reader.requestsOf(run, instance)) {
      if (message === null || !ids.has(message)) continue;
      const group: TreeGroup = { run, phase: 'replay', iteration, instance };
      groups.push(group);
      const sampled = reader.outline(group);
      versions.push(sampled.version);
      for (const { id, parent } of sampled.messages) {
        members.push({ id, parent, branch: true });
        // A later request may be about what this one sampled.
        ids.add(id);
      }
    }
    return new TranscriptOutline(members, versions.join(', '), groups);
  }

  /** The same transcript with some messages only, and those above them. */
  filtered(kept: ReadonlySet<number>): TranscriptOutline {
    const needed = new Set<Node>();
    for (const id of kept) for (let node = this.byMessage.get(id) ?? null; node !== null && !needed.has(node); node = node.parent) needed.add(node);
    const members = this.nodes.filter((node) => needed.has(node)).map(({ id, parent, branch, position, siblings }): Member => ({ id, parent: parent?.id ?? null, branch, position, siblings, match: kept.has(id) }));
    return new TranscriptOutline(members, this.signature, this.groups);
  }

  /** The window of rows that starts at an offset. */
  window(reader: OutlineReader, target: TranscriptTarget, offset: number): readonly TranscriptRow[] {
    const rows = offset === 0 ? [this.question(reader, target)] : [];
    const nodes = this.nodes.slice(Math.max(0, offset - 1), offset + WINDOW - 1);
    const messages = new Map(reader.messages(nodes.map(({ id }) => id)).map((message) => [message.id, message]));
    for (const node of nodes) {
      const message = messages.get(node.id);
      if (message !== undefined) rows.push(rowOf(node, message));
    }
    return rows;
  }

  /** Where a message stands; null when it is not in this transcript. */
  place(message: number): RowPlace | null {
    const node = this.byMessage.get(message);
    return node === undefined ? null : placeOf(node);
  }

  /** Where a row stands; null for the question and for no row. */
  placeAt(index: number): RowPlace | null {
    const node = this.nodes[index - 1];
    return node === undefined ? null : placeOf(node);
  }

  /** The row of a message; null when it is not in this transcript. */
  indexOf(message: number): number | null {
    return this.byMessage.get(message)?.index ?? null;
  }

  /** The message of a row; null for the question and for no row. */
  messageAt(index: number): number | null {
    return this.nodes[index - 1]?.id ?? null;
  }

  has(message: number): boolean {
    return this.byMessage.has(message);
  }

  private question(reader: OutlineReader, target: TranscriptTarget): TranscriptRow {
    const { question } = reader.instance(target.instance);
    return {
      index: 0, depth: 0, parent: null, descendants: this.nodes.length, message: null, role: 'question', turn: 0, position: 1, siblings: 1,
      text: beginning(question, PREVIEW), finish: null, return: null, leaves: 0, credit: null, branch: false, match: true,
    };
  }
}

/** The transcript in which a message stands; one that a request sampled stands in that of the message asked about. */
export function targetOf(reader: Pick<StoreReader, 'message' | 'bucket' | 'chain'>, id: number): TranscriptTarget {
  const message = reader.message(id);
  if (message.phase !== 'replay') return groupTarget(message);
  for (const above of reader.chain(id).toReversed()) {
    if (above.phase !== 'replay') return groupTarget(above);
    const asked = above.bucket === null ? null : reader.bucket(above.bucket).message;
    if (asked !== null && asked !== id) return targetOf(reader, asked);
  }
  return groupTarget(message);
}

function groupTarget({ run, phase, iteration, instance }: Message): TranscriptTarget {
  return { run, phase, iteration, instance };
}

function placeOf(node: Node): RowPlace {
  const ancestors: number[] = [];
  for (let above = node.parent; above !== null; above = above.parent) ancestors.unshift(above.index);
  return { message: node.id, index: node.index, descendants: node.descendants, ancestors: [0, ...ancestors] };
}

/** Numbers the tree depth first, without recursion: a transcript may be one long chain. */
function numbered(roots: readonly Node[]): readonly Node[] {
  const ordered: Node[] = [];
  const stack = roots.toReversed();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    ordered.push(node);
    node.index = ordered.length;
    for (const child of node.children.toReversed()) stack.push(child);
  }
  for (const node of ordered.toReversed()) {
    if (node.parent !== null) node.parent.descendants += node.descendants + 1;
  }
  return ordered;
}

function rowOf(node: Node, message: Message): TranscriptRow {
  return {
    index: node.index,
    depth: node.depth,
    parent: node.parent?.index ?? 0,
    descendants: node.descendants,
    message: message.id,
    role: message.eventType,
    turn: message.turn,
    position: node.position,
    siblings: node.siblings,
    text: beginning(message.text, PREVIEW),
    finish: message.finish,
    return: message.return,
    leaves: message.leaves,
    credit: message.credit,
    branch: node.branch,
    match: node.match,
  };
}
