/** The layout of one transcript: the run's own tree with the branches that replay requests grew on it, depth first. */
import type { StoreReader, TreeGroup } from '../store/reader.ts';
import type { Message } from '../shared/records.ts';
import { PREVIEW, WINDOW, type RowPlace, type TranscriptRow, type TranscriptTarget } from '../shared/transcriptProtocol.ts';

/** Messages read from the store at once. */
const PAGE = 500;

type Reader = Pick<StoreReader, 'transcript' | 'bucketsOfRun' | 'message' | 'instance'>;

/** A message as the outline keeps it. */
interface Node {
  readonly id: number;
  readonly branch: boolean;
  readonly children: Node[];
  readonly parent: Node | null;
  /** Row index; 0 is the question. */
  index: number;
  depth: number;
  descendants: number;
}

interface Member {
  readonly id: number;
  readonly parent: number | null;
  readonly branch: boolean;
}

export class TranscriptOutline {
  /** Rows in all, the question included. */
  readonly rows: number;
  /** Another text whenever a message, a return or a credit was added. */
  readonly signature: string;
  private readonly nodes: readonly Node[];
  private readonly byMessage: ReadonlyMap<number, Node>;
  private readonly roots: readonly Node[];

  private constructor(members: readonly Member[], signature: string) {
    const byMessage = new Map<number, Node>();
    const roots: Node[] = [];
    for (const { id, parent: parentId, branch } of members) {
      const parent = parentId === null ? null : byMessage.get(parentId) ?? null;
      const node: Node = { id, branch, parent, children: [], index: 0, depth: (parent?.depth ?? 0) + 1, descendants: 0 };
      (parent?.children ?? roots).push(node);
      byMessage.set(id, node);
    }
    this.roots = roots;
    this.byMessage = byMessage;
    this.nodes = numbered(roots);
    this.rows = this.nodes.length + 1;
    this.signature = signature;
  }

  /** Reads the layout of a transcript. @throws C3Error('store') when the store cannot be read */
  static read(reader: Reader, target: TranscriptTarget): TranscriptOutline {
    const own = groupOf(reader, target);
    const members: Member[] = own.map(({ id, parent }) => ({ id, parent, branch: target.phase === 'replay' }));
    const signature = own.map(signatureOf);
    const ids = new Set(own.map((message) => message.id));
    for (const request of requestsOf(reader, target)) {
      if (request.message === null || !ids.has(request.message)) continue;
      for (const message of groupOf(reader, { run: target.run, phase: 'replay', iteration: request.iteration, instance: target.instance })) {
        members.push({ id: message.id, parent: message.parent, branch: true });
        signature.push(signatureOf(message));
        // A later request may be about what this one sampled.
        ids.add(message.id);
      }
    }
    return new TranscriptOutline(members, signature.join(' '));
  }

  /** The window of rows that starts at an offset. */
  window(reader: Reader, target: TranscriptTarget, offset: number): readonly TranscriptRow[] {
    const rows: TranscriptRow[] = offset === 0 ? [this.question(reader, target)] : [];
    const from = Math.max(0, offset - 1);
    return rows.concat(this.nodes.slice(from, offset + WINDOW - 1).map((node) => rowOf(node, reader.message(node.id), node.parent?.children ?? this.roots)));
  }

  /** Where a message stands; null when it is not in this transcript. */
  place(message: number): RowPlace | null {
    const node = this.byMessage.get(message);
    if (node === undefined) return null;
    const ancestors: number[] = [];
    for (let above = node.parent; above !== null; above = above.parent) ancestors.unshift(above.index);
    return { message, index: node.index, descendants: node.descendants, ancestors: [0, ...ancestors] };
  }

  private question(reader: Reader, target: TranscriptTarget): TranscriptRow {
    const { question } = reader.instance(target.instance);
    return {
      index: 0, depth: 0, descendants: this.nodes.length, message: null, role: 'question', turn: 0, position: 1, siblings: 1,
      text: question.slice(0, PREVIEW), finish: null, return: null, leaves: 0, credit: null, branch: false,
    };
  }
}

/** Another text whenever the transcript may have changed; cheap, so that a long one is read anew only then. */
export function stampOf(reader: Pick<StoreReader, 'run' | 'transcript' | 'countBuckets' | 'countReplays'>, target: TranscriptTarget): string {
  const { status, steps } = reader.run(target.run);
  const { total } = reader.transcript({ ...target, offset: 0, limit: 1 });
  const requests = reader.countBuckets({ run: target.run, origin: 'request' });
  return [total, requests, reader.countReplays(target.run), status, target.phase === 'train' && steps >= target.iteration].join(' ');
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

function groupOf(reader: Reader, group: TreeGroup): readonly Message[] {
  const { run, phase, iteration, instance } = group;
  const messages: Message[] = [];
  for (;;) {
    const page = reader.transcript({ run, phase, iteration, instance, offset: messages.length, limit: PAGE });
    messages.push(...page.messages);
    if (messages.length >= page.total || page.messages.length === 0) return messages;
  }
}

function requestsOf(reader: Reader, { run, instance }: TranscriptTarget): readonly { readonly message: number | null; readonly iteration: number }[] {
  const found: { message: number | null; iteration: number }[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = reader.bucketsOfRun({ run, origin: 'request', offset, limit: PAGE });
    found.push(...page.filter((bucket) => bucket.instance === instance).map(({ message, iteration }) => ({ message, iteration })));
    if (page.length < PAGE) return found;
  }
}

function signatureOf(message: Message): string {
  return `${String(message.id)}:${String(message.leaves)}:${String(message.return)}:${String(message.credit?.value)}`;
}

/** Numbers the tree depth first, without recursion: a transcript may be one long chain. */
function numbered(roots: readonly Node[]): readonly Node[] {
  const ordered: Node[] = [];
  const stack = roots.toReversed();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    ordered.push(node);
    node.index = ordered.length;
    stack.push(...node.children.toReversed());
  }
  for (const node of ordered.toReversed()) {
    if (node.parent !== null) node.parent.descendants += node.descendants + 1;
  }
  return ordered;
}

function rowOf(node: Node, message: Message, siblings: readonly Node[]): TranscriptRow {
  return {
    index: node.index,
    depth: node.depth,
    descendants: node.descendants,
    message: message.id,
    role: message.eventType,
    turn: message.turn,
    position: siblings.indexOf(node) + 1,
    siblings: siblings.length,
    text: message.text.slice(0, PREVIEW),
    finish: message.finish,
    return: message.return,
    leaves: message.leaves,
    credit: message.credit,
    branch: node.branch,
  };
}
