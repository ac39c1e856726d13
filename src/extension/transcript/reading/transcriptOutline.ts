/**
 * The layout of one transcript, depth first: the run's own tree, and below each replayed message a
 * lane with the messages of its replays. It holds only ids. The content of rows is read with each
 * window.
 */

import { learnedFrom, type Message } from '../../../domain/message.ts';
import {
  toLaneKey,
  PREVIEW,
  WINDOW,
  type Replays,
  type RowPlace,
  type TranscriptRow,
  type TranscriptTarget,
} from '../../../shared/protocols/transcriptProtocol.ts';
import { takeBeginning } from '../../../shared/text/visible.ts';
import type { GroupOutline, MessageFacts, StoreReader, TreeGroup } from '../../../store/read/reader.ts';

/** The part of the store that a layout is read from. */
export type OutlineReader = Pick<StoreReader, 'outline' | 'requestsOf' | 'messages' | 'problem' | 'facts'>;

/**
 * The roles that each role sees. Each message is then below the last one that it sees. If null, each
 * message is below its predecessor.
 */
export type Sight = ReadonlyMap<string, ReadonlySet<string>> | null;

/**
 * The group of rows that are numbered together: the rows of one parent. In a lane, the continuations
 * of the message and its alternatives are separate groups.
 */
type NumberingGroup = number | string | null;

/** A row of the outline: a message, or the lane of a message's replays. */
interface Node {
  readonly key: number;
  /** The message, or the message whose replays are in the lane. */
  readonly id: number;
  readonly lane: Replays | null;
  readonly branch: boolean;
  readonly among: NumberingGroup;
  readonly children: Node[];
  readonly parent: Node | null;
  /** One-based position in its group. `siblings` is the size of that group. A filter changes neither. */
  readonly position: number;
  siblings: number;
  /** False if a filter keeps the row only because of a row below it. */
  readonly match: boolean;
  /** Row index. The question has index 0. */
  index: number;
  depth: number;
  descendants: number;
}

interface Member {
  readonly key: number;
  readonly id: number;
  /** Key of the parent row, or null for a row below the question. */
  readonly parent: number | null;
  readonly lane: Replays | null;
  readonly branch: boolean;
  readonly among: NumberingGroup;
  /** Key of the row beside it, whose number it shares. */
  readonly beside?: number;
  /** Its position among all rows, if the members are only a part of them. */
  readonly position?: number;
  readonly siblings?: number;
  readonly match?: boolean;
}

/** Numbers of messages of one kind: all, and those that match the filter. */
interface Counted {
  readonly messages: number;
  readonly matching: number;
}

/** Numbers of messages of the run itself and of replay requests, and of the requests and replays. */
export interface OutlineCounts {
  readonly own: Counted;
  readonly replayed: Counted;
  readonly made: Replays;
}

interface Made {
  readonly made: Replays;
  readonly sight: Sight;
  /** Keys of voters beside each other without replays. Their rows show the credit used in training. */
  readonly voters: ReadonlySet<number>;
}

export class TranscriptOutline {
  /** Number of rows, including the question. */
  readonly rows: number;
  /** A text that changes whenever a message, a return or a credit is added. */
  readonly signature: string;
  readonly counts: OutlineCounts;
  /** The sampling groups of the messages: that of the run first, then those of replay requests. */
  readonly groups: readonly TreeGroup[];
  private readonly nodes: readonly Node[];
  private readonly byKey: ReadonlyMap<number, Node>;

  private readonly sight: Sight;
  private readonly voters: ReadonlySet<number>;

  private constructor(
    members: readonly Member[],
    { signature, groups, made, sight, voters }: Pick<TranscriptOutline, 'signature' | 'groups'> & Made,
  ) {
    const byKey = new Map<number, Node>();
    const roots: Node[] = [];
    const numbers = new Map<NumberingGroup, number>();
    for (const member of members) {
      const { key, id, lane, parent: parentKey, branch, position, siblings = 0, match = true } = member;
      const parent = parentKey === null ? null : (byKey.get(parentKey) ?? null);
      const beside = member.beside === undefined ? undefined : byKey.get(member.beside);
      const { among } = beside ?? member;
      const place = position ?? beside?.position ?? (numbers.get(among) ?? 0) + 1;
      numbers.set(among, place);
      const depth = (parent?.depth ?? 0) + 1;
      const node: Node = {
        key,
        id,
        lane,
        branch,
        among,
        parent,
        match,
        position: place,
        siblings,
        children: [],
        index: 0,
        depth,
        descendants: 0,
      };
      (parent?.children ?? roots).push(node);
      byKey.set(key, node);
    }
    for (const node of byKey.values()) {
      if (node.siblings === 0) {
        node.siblings = numbers.get(node.among) ?? 1;
      }
    }
    this.byKey = byKey;
    this.nodes = numberNodes(roots);
    this.rows = this.nodes.length + 1;
    this.signature = signature;
    this.groups = groups;
    this.sight = sight;
    this.voters = voters;
    const messages = this.nodes.filter(({ lane }) => lane === null);
    // A transcript of a replay request has no other messages.
    const [replayed, own] =
      groups[0]?.phase === 'replay'
        ? [[], messages]
        : [messages.filter(({ branch }) => branch), messages.filter(({ branch }) => !branch)];
    this.counts = { own: countMatching(own), replayed: countMatching(replayed), made };
  }

  /**
   * Reads the layout of a transcript.
   * @param sight the roles that each role sees, for a team whose messages are below those that they see
   * @throws C3Error('store') if the store cannot be read
   */
  static read(reader: OutlineReader, target: TranscriptTarget, sight: Sight = null): TranscriptOutline {
    const { run, problem } = target;
    const own = reader.outline(target);
    const branch = target.phase === 'replay';
    const placedOf = (group: TreeGroup, { messages }: GroupOutline): readonly Placed[] =>
      sight === null ? messages : placeBelowSeen(messages, sight, mapRoles(reader.facts(group)));
    const members: Member[] = placedOf(target, own).map(({ id, parent, beside, among = parent }) => ({
      key: id,
      id,
      parent,
      lane: null,
      branch,
      among,
      ...(beside !== undefined && { beside }),
    }));
    const versions = [own.version];
    const groups: TreeGroup[] = [target];
    const ids = new Set(members.map(({ id }) => id));
    const lanes = new Map<number, { requests: number; replays: number }>();
    const made = { requests: 0, replays: 0 };
    for (const { message, iteration } of reader.requestsOf(run, problem)) {
      if (message === null || !ids.has(message)) {
        continue;
      }
      const group: TreeGroup = { run, phase: 'replay', iteration, problem };
      groups.push(group);
      const sampled = reader.outline(group);
      versions.push(sampled.version);
      const replays = countLeaves(sampled.messages);
      const lane = lanes.get(message) ?? { requests: 0, replays: 0 };
      if (lane.requests === 0) {
        lanes.set(message, lane);
        members.push({
          key: toLaneKey(message),
          id: message,
          parent: message,
          lane,
          branch: true,
          among: `lane of ${message}`,
        });
      }
      for (const count of [lane, made]) {
        count.requests += 1;
        count.replays += replays;
      }
      members.push(...listLaneMembers(message, placedOf(group, sampled)));
      // A later request may be about a message of this one.
      for (const { id } of sampled.messages) {
        ids.add(id);
      }
    }
    const voters = new Set(members.flatMap(({ key, beside }) => (beside === undefined ? [] : [key, beside])));
    for (const replayed of lanes.keys()) {
      voters.delete(replayed);
    }
    return new TranscriptOutline(members, { signature: versions.join(', '), groups, made, sight, voters });
  }

  /** Reads the same transcript again. */
  again(reader: OutlineReader, target: TranscriptTarget): TranscriptOutline {
    return TranscriptOutline.read(reader, target, this.sight);
  }

  /** Returns the transcript with only some messages and their ancestors. */
  filtered(kept: ReadonlySet<number>): TranscriptOutline {
    const needed = new Set<Node>();
    for (const id of kept) {
      for (let node = this.byKey.get(id) ?? null; node !== null && !needed.has(node); node = node.parent) {
        needed.add(node);
      }
    }
    const members = this.nodes
      .filter((node) => needed.has(node))
      .map(({ key, id, parent, lane, branch, among, position, siblings }): Member => ({
        key,
        id,
        parent: parent?.key ?? null,
        lane,
        branch,
        among,
        position,
        siblings,
        match: kept.has(key),
      }));
    const { signature, groups, sight, voters } = this;
    return new TranscriptOutline(members, { signature, groups, sight, voters, made: this.counts.made });
  }

  /** The places of the lanes. */
  get lanes(): readonly RowPlace[] {
    return this.nodes.filter(({ lane }) => lane !== null).map(toRowPlace);
  }

  /** Reads the window of rows that starts at an offset. */
  window(reader: OutlineReader, target: TranscriptTarget, offset: number): readonly TranscriptRow[] {
    const rows = offset === 0 ? [this.question(reader, target)] : [];
    const nodes = this.nodes.slice(Math.max(0, offset - 1), offset + WINDOW - 1);
    const messages = new Map(
      reader.messages([...new Set(nodes.map(({ id }) => id))]).map((message) => [message.id, message]),
    );
    for (const node of nodes) {
      const message = messages.get(node.id);
      if (message !== undefined) {
        rows.push(toTranscriptRow(node, message, this.voters.has(node.key)));
      }
    }
    return rows;
  }

  /** Returns the place of the row with a key, or null if it is not in this transcript. */
  place(key: number): RowPlace | null {
    const node = this.byKey.get(key);
    return node === undefined ? null : toRowPlace(node);
  }

  /** Returns the place of the row at an index, or null for the question or a missing row. */
  placeAt(index: number): RowPlace | null {
    const node = this.nodes[index - 1];
    return node === undefined ? null : toRowPlace(node);
  }

  /** Returns the index of the row with a key, or null if it is not in this transcript. */
  indexOf(key: number): number | null {
    return this.byKey.get(key)?.index ?? null;
  }

  /** Returns the key of the row at an index, or null for the question or a missing row. */
  keyAt(index: number): number | null {
    return this.nodes[index - 1]?.key ?? null;
  }

  has(message: number): boolean {
    return this.byKey.has(message);
  }

  private question(reader: OutlineReader, target: TranscriptTarget): TranscriptRow {
    const { question } = reader.problem(target.problem);
    return {
      index: 0,
      depth: 0,
      parent: null,
      descendants: this.nodes.length,
      message: null,
      key: null,
      lane: null,
      role: 'question',
      turn: 0,
      position: 1,
      siblings: 1,
      text: takeBeginning(question, PREVIEW),
      finish: null,
      return: null,
      leaves: 0,
      credit: null,
      branch: false,
      match: true,
    };
  }
}

/** Returns the transcript of a message. A replay's message is in that of the replayed message. */
export function findTranscriptTarget(
  reader: Pick<StoreReader, 'message' | 'bucket' | 'chain'>,
  id: number,
): TranscriptTarget {
  const message = reader.message(id);
  if (message.phase !== 'replay') {
    return toGroupTarget(message);
  }
  for (const above of reader.chain(id).toReversed()) {
    if (above.phase !== 'replay') {
      return toGroupTarget(above);
    }
    const asked = above.bucket === null ? null : reader.bucket(above.bucket).message;
    if (asked !== null && asked !== id) {
      return findTranscriptTarget(reader, asked);
    }
  }
  return toGroupTarget(message);
}

function toGroupTarget({ run, phase, iteration, problem }: Message): TranscriptTarget {
  return { run, phase, iteration, problem };
}

function toRowPlace(node: Node): RowPlace {
  const ancestors: number[] = [];
  for (let above = node.parent; above !== null; above = above.parent) {
    ancestors.push(above.index);
  }
  return {
    message: node.key,
    index: node.index,
    descendants: node.descendants,
    ancestors: [0, ...ancestors.reverse()],
  };
}

function countMatching(nodes: readonly Node[]): Counted {
  return { messages: nodes.length, matching: nodes.reduce((sum, { match }) => sum + (match ? 1 : 0), 0) };
}

/**
 * Returns the messages of a request in the lane of the replayed message: first the continuations of
 * that message, then its alternatives with their continuations.
 */
function listLaneMembers(message: number, sampled: readonly Placed[]): readonly Member[] {
  const continues = new Map<number, boolean>();
  const members = sampled.map(({ id, parent, beside, among }): Member => {
    const above = parent === null ? undefined : continues.get(parent);
    const first = above ?? parent === message;
    continues.set(id, first);
    const beginning = `${first ? 'continues' : 'instead of'} ${message}`;
    return {
      key: id,
      id,
      parent: above === undefined ? toLaneKey(message) : parent,
      among: among ?? (above === undefined ? beginning : parent),
      lane: null,
      branch: true,
      ...(beside !== undefined && { beside }),
    };
  });
  return [true, false].flatMap((first) => members.filter(({ id }) => continues.get(id) === first));
}

/** A message with its place in the outline. */
interface Placed {
  readonly id: number;
  readonly parent: number | null;
  /** A message of the same episodes, such that neither sees the other. */
  readonly beside?: number;
  /** The message that it and its alternatives follow, if they are all beside that message. */
  readonly among?: number;
}

/**
 * Moves each message below the last earlier one that it sees. Alternatives that other messages follow
 * stay in place, since each has its own episodes below it.
 * @param messages the messages, depth first; none is moved above a message outside this list
 */
export function placeBelowSeen(
  messages: GroupOutline['messages'],
  sight: NonNullable<Sight>,
  roles: ReadonlyMap<number, string>,
): readonly Placed[] {
  const parents = new Map(messages.map(({ id, parent }) => [id, parent]));
  const children = Map.groupBy(messages, ({ parent }) => parent);
  const isAlone = (above: number): boolean => children.get(above)?.length === 1;
  const isLast = (above: number): boolean => children.get(above)?.every(({ id }) => !children.has(id)) === true;
  return messages.map(({ id, parent }) => {
    const seen = sight.get(roles.get(id) ?? '');
    let above = parent;
    let beside: number | undefined;
    while (
      above !== null &&
      parents.has(above) &&
      (isAlone(above) || (above === parent && isLast(above))) &&
      seen?.has(roles.get(above) ?? '') === false
    ) {
      beside = above;
      above = parents.get(above) ?? null;
    }
    if (beside === undefined || parent === null) {
      return { id, parent };
    }
    return { id, parent: above, ...(isAlone(parent) ? { beside } : { among: parent }) };
  });
}

const mapRoles = (facts: readonly Pick<MessageFacts, 'id' | 'role'>[]): ReadonlyMap<number, string> =>
  new Map(facts.map(({ id, role }) => [id, role]));

/** Returns the number of messages of a group without continuations, which is that of its replays. */
function countLeaves(messages: readonly { readonly id: number; readonly parent: number | null }[]): number {
  const continued = new Set(messages.map(({ parent }) => parent));
  return messages.filter(({ id }) => !continued.has(id)).length;
}

/** Numbers the tree depth first, without recursion, since a transcript may be one long chain. */
function numberNodes(roots: readonly Node[]): readonly Node[] {
  const ordered: Node[] = [];
  const stack = roots.toReversed();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    ordered.push(node);
    node.index = ordered.length;
    for (const child of node.children.toReversed()) {
      stack.push(child);
    }
  }
  for (const node of ordered.toReversed()) {
    if (node.parent !== null) {
      node.parent.descendants += node.descendants + 1;
    }
  }
  return ordered;
}

/** @param voter true if the row shows the credit used in training, as the voters beside it do */
function toTranscriptRow(node: Node, message: Message, voter: boolean): TranscriptRow {
  const learned = voter ? message.trainingCredit : learnedFrom(message);
  return {
    index: node.index,
    depth: node.depth,
    parent: node.parent?.index ?? 0,
    descendants: node.descendants,
    message: message.id,
    key: node.key,
    lane: node.lane,
    role: message.role,
    turn: message.turn,
    ...(message.stage !== undefined && { stage: message.stage }),
    position: node.position,
    siblings: node.siblings,
    text: takeBeginning(message.text, PREVIEW),
    finish: message.finish,
    return: message.return,
    leaves: message.leaves,
    ...(message.byHand === true && { byHand: true }),
    credit: message.credit,
    ...(learned !== null && { learned }),
    branch: node.branch,
    match: node.match,
  };
}
