/**
 * The layout of one transcript: the run's own tree, and below a message that was replayed a lane with what its replays
 * sampled, depth first. It holds ids only; what a row shows is read with its window.
 */
import { learnedFrom, type Message } from '../../../domain/message.ts';
import {
  laneOf,
  PREVIEW,
  WINDOW,
  type Replays,
  type RowPlace,
  type TranscriptRow,
  type TranscriptTarget,
} from '../../../shared/protocols/transcriptProtocol.ts';
import { beginning } from '../../../shared/text/visible.ts';
import type { GroupOutline, MessageFacts, StoreReader, TreeGroup } from '../../../store/read/reader.ts';

/** What a layout is read from. */
export type OutlineReader = Pick<StoreReader, 'outline' | 'requestsOf' | 'messages' | 'problem' | 'facts'>;

/** Whom each role sees, where messages are below the last one that they see; null: below the one before them. */
export type Sight = ReadonlyMap<string, ReadonlySet<string>> | null;

/**
 * What a row is numbered with: the rows of one parent; in a lane, what continues the message and its alternatives
 * apart.
 */
type Among = number | string | null;

/** A row as the outline keeps it: a message, or the lane of a message's replays. */
interface Node {
  readonly key: number;
  /** The message, or the one whose replays the lane holds. */
  readonly id: number;
  readonly lane: Replays | null;
  readonly branch: boolean;
  readonly among: Among;
  readonly children: Node[];
  readonly parent: Node | null;
  /** One-based, and the number of those that it is counted with; a filter changes neither. */
  readonly position: number;
  siblings: number;
  /** False where a filter left the row only because of what is below it. */
  readonly match: boolean;
  /** Row index; 0 is the question. */
  index: number;
  depth: number;
  descendants: number;
}

interface Member {
  readonly key: number;
  readonly id: number;
  /** Key of the row above; null for one below the question. */
  readonly parent: number | null;
  readonly lane: Replays | null;
  readonly branch: boolean;
  readonly among: Among;
  /** Key of the row beside which it is: it is numbered as that one. */
  readonly beside?: number;
  /** Its place among all, where the members are a part of them. */
  readonly position?: number;
  readonly siblings?: number;
  readonly match?: boolean;
}

/** Messages of one kind, and those of them that match the filter. */
interface Counted {
  readonly messages: number;
  readonly matching: number;
}

/** What an outline holds: messages of the run itself, those of replay requests, and what these made. */
export interface OutlineCounts {
  readonly own: Counted;
  readonly replayed: Counted;
  readonly made: Replays;
}

interface Made {
  readonly made: Replays;
  readonly sight: Sight;
  /** Keys of voters beside each other that were not replayed: each shows what training learned from it. */
  readonly voters: ReadonlySet<number>;
}

export class TranscriptOutline {
  /** Rows in all, the question included. */
  readonly rows: number;
  /** Another text whenever a message, a return or a credit was added. */
  readonly signature: string;
  readonly counts: OutlineCounts;
  /** The sampling groups whose messages are here: the run's own, then those of replay requests. */
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
    const numbers = new Map<Among, number>();
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
    this.nodes = numbered(roots);
    this.rows = this.nodes.length + 1;
    this.signature = signature;
    this.groups = groups;
    this.sight = sight;
    this.voters = voters;
    const messages = this.nodes.filter(({ lane }) => lane === null);
    // A transcript that is itself a replay request has no other messages.
    const [replayed, own] =
      groups[0]?.phase === 'replay'
        ? [[], messages]
        : [messages.filter(({ branch }) => branch), messages.filter(({ branch }) => !branch)];
    this.counts = { own: counted(own), replayed: counted(replayed), made };
  }

  /**
   * Reads the layout of a transcript.
   * @param sight of a team whose messages are below what they see
   * @throws C3Error('store') when the store cannot be read
   */
  static read(reader: OutlineReader, target: TranscriptTarget, sight: Sight = null): TranscriptOutline {
    const { run, problem } = target;
    const own = reader.outline(target);
    const branch = target.phase === 'replay';
    const placedOf = (group: TreeGroup, { messages }: GroupOutline): readonly Placed[] =>
      sight === null ? messages : belowSeen(messages, sight, rolesOf(reader.facts(group)));
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
      const replays = leavesOf(sampled.messages);
      const lane = lanes.get(message) ?? { requests: 0, replays: 0 };
      if (lane.requests === 0) {
        lanes.set(message, lane);
        members.push({
          key: laneOf(message),
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
      members.push(...laneMembers(message, placedOf(group, sampled)));
      // A later request may be about what this one sampled.
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

  /** The same transcript as the store has it now. */
  again(reader: OutlineReader, target: TranscriptTarget): TranscriptOutline {
    return TranscriptOutline.read(reader, target, this.sight);
  }

  /** The same transcript with some messages only, and those above them. */
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

  /** Where the lanes of replays are. */
  get lanes(): readonly RowPlace[] {
    return this.nodes.filter(({ lane }) => lane !== null).map(placeOf);
  }

  /** The window of rows that starts at an offset. */
  window(reader: OutlineReader, target: TranscriptTarget, offset: number): readonly TranscriptRow[] {
    const rows = offset === 0 ? [this.question(reader, target)] : [];
    const nodes = this.nodes.slice(Math.max(0, offset - 1), offset + WINDOW - 1);
    const messages = new Map(
      reader.messages([...new Set(nodes.map(({ id }) => id))]).map((message) => [message.id, message]),
    );
    for (const node of nodes) {
      const message = messages.get(node.id);
      if (message !== undefined) {
        rows.push(rowOf(node, message, this.voters.has(node.key)));
      }
    }
    return rows;
  }

  /** Where a row is, by its key; null when it is not in this transcript. */
  place(key: number): RowPlace | null {
    const node = this.byKey.get(key);
    return node === undefined ? null : placeOf(node);
  }

  /** Where a row is; null for the question and for no row. */
  placeAt(index: number): RowPlace | null {
    const node = this.nodes[index - 1];
    return node === undefined ? null : placeOf(node);
  }

  /** The row with this key; null when it is not in this transcript. */
  indexOf(key: number): number | null {
    return this.byKey.get(key)?.index ?? null;
  }

  /** The key of a row; null for the question and for no row. */
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
      text: beginning(question, PREVIEW),
      finish: null,
      return: null,
      leaves: 0,
      credit: null,
      branch: false,
      match: true,
    };
  }
}

/** The transcript in which a message is; one that a request sampled is in that of the message asked about. */
export function targetOf(reader: Pick<StoreReader, 'message' | 'bucket' | 'chain'>, id: number): TranscriptTarget {
  const message = reader.message(id);
  if (message.phase !== 'replay') {
    return groupTarget(message);
  }
  for (const above of reader.chain(id).toReversed()) {
    if (above.phase !== 'replay') {
      return groupTarget(above);
    }
    const asked = above.bucket === null ? null : reader.bucket(above.bucket).message;
    if (asked !== null && asked !== id) {
      return targetOf(reader, asked);
    }
  }
  return groupTarget(message);
}

function groupTarget({ run, phase, iteration, problem }: Message): TranscriptTarget {
  return { run, phase, iteration, problem };
}

function placeOf(node: Node): RowPlace {
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

function counted(nodes: readonly Node[]): Counted {
  return { messages: nodes.length, matching: nodes.reduce((sum, { match }) => sum + (match ? 1 : 0), 0) };
}

/**
 * What a request sampled, in the lane of the message that it is about: first what continues the message itself, then
 * its alternatives with theirs.
 */
function laneMembers(message: number, sampled: readonly Placed[]): readonly Member[] {
  const continues = new Map<number, boolean>();
  const members = sampled.map(({ id, parent, beside, among }): Member => {
    const above = parent === null ? undefined : continues.get(parent);
    const first = above ?? parent === message;
    continues.set(id, first);
    const beginning = `${first ? 'continues' : 'instead of'} ${message}`;
    return {
      key: id,
      id,
      parent: above === undefined ? laneOf(message) : parent,
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
  /** The message beside which it is: of the same episodes, and neither sees the other. */
  readonly beside?: number;
  /** The message that its alternatives follow as well, where these are beside that one. */
  readonly among?: number;
}

/**
 * Messages below the last one before them that they see. Alternatives that others follow stay where they are, since
 * each has episodes of its own below it.
 * @param messages depth first; none is moved above what one of them follows
 */
export function belowSeen(
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

const rolesOf = (facts: readonly Pick<MessageFacts, 'id' | 'role'>[]): ReadonlyMap<number, string> =>
  new Map(facts.map(({ id, role }) => [id, role]));

/** How many messages of a group nothing in it continues: its replays. */
function leavesOf(messages: readonly { readonly id: number; readonly parent: number | null }[]): number {
  const continued = new Set(messages.map(({ parent }) => parent));
  return messages.filter(({ id }) => !continued.has(id)).length;
}

/** Numbers the tree depth first, without recursion: a transcript may be one long chain. */
function numbered(roots: readonly Node[]): readonly Node[] {
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

/** @param voter whether it shows what training learned from it, as the voters beside it do */
function rowOf(node: Node, message: Message, voter: boolean): TranscriptRow {
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
    text: beginning(message.text, PREVIEW),
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
