/**
 * A LangGraph thread as the steps from each of its checkpoints to the next: what each removed from the lists of
 * messages and what it added. All messages are kept once, so that a thread is as long as what was said in it.
 */
import { parsedMessages } from '../chat/messages.ts';
import { saidBy, type Checkpoint, type ParallelStep, type Task } from './langGraphState.ts';

/** What became of one list of messages: the places that were taken out of it, and what stands where in the new one. */
export type ListChange = readonly [
  key: string,
  removed: readonly number[],
  added: readonly (readonly [place: number, message: number, task: number])[],
];

export interface ThreadStep {
  readonly lists: readonly ListChange[];
  /** Texts that are new, or null for those that are gone. */
  readonly texts: Readonly<Record<string, string | null>>;
  /** The node of each task; null where it is not known. */
  readonly nodes: readonly (string | null)[];
  /** Whether its messages were said elsewhere and given to a graph within another. */
  readonly given?: true;
}

/** A line of the file that a database of checkpoints is read into. */
export interface ThreadLine {
  readonly langgraph_thread: true;
  readonly id: string;
  /** Every message that was ever in the state. */
  readonly pool: readonly unknown[];
  readonly steps: readonly ThreadStep[];
}

/** Who may have written what a step added. */
export type TasksOf = (step: ParallelStep) => readonly Task[];

/** What prebuilt agents call the node that asks a model, whoever the agent is. */
const GENERIC = /^(?:agent|assistant|chatbot|llm|model|call_model|model_request)$/u;
const START = ['__start__', '__input__'];

/** Puts a thread together from its checkpoints, oldest first. */
export class ThreadSteps {
  private readonly pool: unknown[] = [];
  private readonly steps: ThreadStep[] = [];
  /** Places in the pool. */
  private readonly known = new Map<string, number>();
  private lists = new Map<string, readonly number[]>();
  private before: Checkpoint | null = null;
  private readonly graph: string | null;

  /** @param graph the node that runs this graph in another one; null for a thread's own */
  constructor(graph: string | null = null) {
    this.graph = graph;
  }

  add(checkpoint: Checkpoint, tasksOf: TasksOf): void {
    const first = this.pool.length;
    const lists = new Map([...checkpoint.lists].map(([key, list]) => [key, this.placesOf(list)] as const));
    const texts = this.textChanges(checkpoint);
    const keys = new Set([...this.lists.keys(), ...lists.keys()]);
    const changes = [...keys].map((key) => changeOf(key, this.lists.get(key) ?? [], lists.get(key) ?? []));
    const writers = this.writersOf(checkpoint, this.newOnes(first, lists), tasksOf);
    const step: ThreadStep = {
      lists: changes
        .filter(([, removed, added]) => removed.length + added.length > 0)
        .map(([key, removed, added]) => [
          key,
          removed,
          added.map(([place, message]) => [place, message, writers.taskOf(message)]),
        ]),
      texts,
      nodes: writers.nodes.map((node) => (node !== null && GENERIC.test(node) ? (this.graph ?? node) : node)),
      ...(writers.isInput && this.graph !== null ? { given: true } : {}),
    };
    if (step.lists.length > 0 || Object.keys(texts).length > 0) {
      this.steps.push(step);
    }
    this.lists = lists;
    this.before = checkpoint;
  }

  /** The thread, as long as what was said in it. */
  line(id: string): ThreadLine {
    return { langgraph_thread: true, id, pool: this.pool, steps: this.steps };
  }

  get isEmpty(): boolean {
    return this.pool.length === 0;
  }

  /** What models say in it, each text once. */
  said(): Set<string> {
    return saidIn(this.pool);
  }

  /** Messages by all that they are; the second of two that are the same in one list is another. */
  private placesOf(list: readonly unknown[]): number[] {
    const met = new Map<string, number>();
    return list.map((message) => {
      const text = JSON.stringify(message) as string | undefined;
      const all = text ?? 'null';
      const nth = met.get(all) ?? 0;
      met.set(all, nth + 1);
      const key = nth === 0 ? all : `${nth} ${all}`;
      const place = this.known.get(key) ?? this.pool.push(message) - 1;
      this.known.set(key, place);
      return place;
    });
  }

  private textChanges({ texts }: Checkpoint): Record<string, string | null> {
    const before = this.before?.texts ?? new Map<string, string>();
    const gone = [...before.keys()].filter((key) => !texts.has(key)).map((key) => [key, null] as const);
    return Object.fromEntries([...[...texts].filter(([key, text]) => before.get(key) !== text), ...gone]);
  }

  /** The messages that are new from a place of the pool on, in the order of the list that has them all. */
  private newOnes(first: number, lists: ReadonlyMap<string, readonly number[]>): NewMessages {
    const places = Array.from({ length: this.pool.length - first }, (_, index) => first + index);
    const ordered = [...lists.values()]
      .map((list) => list.filter((place) => place >= first))
      .find(({ length }) => length === places.length);
    return { places: ordered ?? places, isOrdered: ordered !== undefined };
  }

  /**
   * The tasks of a step: one, where one node alone ran or what is new came from outside; else those that say what they
   * wrote, and one for each message of which nobody does.
   */
  private writersOf({ seen }: Checkpoint, made: NewMessages, tasksOf: TasksOf): Writers {
    const { before, pool } = this;
    const changed = [...seen].filter(([node, versions]) => before?.seen.get(node) !== versions).map(([node]) => node);
    const isNode = (name: string): boolean => !name.startsWith('__');
    const sent = (before?.sent ?? []).filter(isNode);
    const nodes = [...new Set([...changed.filter(isNode), ...sent])];
    const isParallel = nodes.length - new Set(sent).size + sent.length > 1;
    const isInput = before === null || (nodes.length === 0 && changed.some((name) => START.includes(name)));
    if (made.places.length === 0 || isInput || (nodes.length === 1 && !isParallel)) {
      return { nodes: [isInput || isParallel ? null : (nodes[0] ?? null)], isInput, taskOf: () => 0 };
    }
    return assigned(pool, made, nodes, tasksOf({ nodes, seen, sent: before.sent }));
  }
}

interface NewMessages {
  readonly places: readonly number[];
  /** Whether they are as one list has them. */
  readonly isOrdered: boolean;
}

interface Writers {
  readonly nodes: readonly (string | null)[];
  /** Whether no node wrote anything: it came from outside. */
  readonly isInput: boolean;
  readonly taskOf: (message: number) => number;
}

/** Finds for each new message the task that wrote it. */
function assigned(
  pool: readonly unknown[],
  { places, isOrdered }: NewMessages,
  ran: readonly string[],
  tasks: readonly Task[],
): Writers {
  const byWords = new Map<string, number>();
  for (const [task, { messages }] of tasks.entries()) {
    for (const words of messages.flatMap(saidBy)) {
      // Words of two tasks say nothing of who wrote them, but the id that comes before does.
      byWords.set(words, byWords.has(words) && byWords.get(words) !== task ? -1 : task);
    }
  }
  const nodes = tasks.map(({ node }) => node);
  const only = ran.length === 1 ? (ran[0] ?? null) : null;
  const taskOf = new Map<number, number>();
  for (const message of places) {
    const found = saidBy(pool[message])
      .map((words) => byWords.get(words) ?? -1)
      .find((task) => task >= 0);
    taskOf.set(message, found ?? nodes.push(only) - 1);
  }
  if (isOrdered) {
    nameInOrder(nodes, ran, [...taskOf.values()], tasks.length);
  }
  return { nodes, isInput: false, taskOf: (message) => taskOf.get(message) ?? 0 };
}

/**
 * LangGraph adds what the tasks of a step wrote in the order of their nodes' names. Where every node that is left wrote
 * something, this says who wrote what.
 */
function nameInOrder(nodes: (string | null)[], ran: readonly string[], wrote: readonly number[], known: number): void {
  const left = ran.filter((node) => !nodes.includes(node)).toSorted();
  const unnamed = [...new Set(wrote)].filter((task) => nodes[task] === null);
  if (left.length === unnamed.length && unnamed.every((task) => task < known)) {
    for (const [index, task] of unnamed.entries()) {
      nodes[task] = left[index] ?? null;
    }
  }
}

/** What models say in messages, each text once. */
export const saidIn = (messages: readonly unknown[]): Set<string> =>
  new Set(
    messages
      .flatMap((message) => parsedMessages([message]))
      .filter(({ role }) => role === 'assistant')
      .map(({ text }) => text),
  );

/** What makes one list of the other; the messages of a list are all different. */
function changeOf(
  key: string,
  before: readonly number[],
  after: readonly number[],
): readonly [string, readonly number[], readonly (readonly [number, number])[]] {
  let start = 0;
  while (start < before.length && before[start] === after[start]) {
    start++;
  }
  const left = new Set(after.slice(start));
  const removed: number[] = [];
  const kept: number[] = [];
  for (let place = start; place < before.length; place++) {
    const message = before[place] ?? -1;
    if (left.has(message)) {
      kept.push(message);
    } else {
      removed.push(place);
    }
  }
  const added: (readonly [number, number])[] = [];
  let next = 0;
  for (let place = start; place < after.length; place++) {
    const message = after[place] ?? -1;
    if (message === kept[next]) {
      next++;
    } else {
      added.push([place, message]);
    }
  }
  if (next === kept.length) {
    return [key, removed, added];
  }
  // In another order: from the first difference on it is written anew.
  return [
    key,
    before.slice(start).map((_, index) => start + index),
    after.slice(start).map((message, index) => [start + index, message] as const),
  ];
}
