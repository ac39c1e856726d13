/**
 * Turns a LangGraph thread into the steps between its checkpoints: the messages that each step
 * removes from the lists and those that it adds. Each message is kept once, so the size grows with
 * the text of the thread only.
 */

import { parseMessages } from '../chat/messages.ts';
import { listIdentifyingKeys, type Checkpoint, type ParallelStep, type Task } from './langGraphState.ts';

/** The change of a list: the removed indices, and the new messages with their new indices. */
export type ListChange = readonly [
  key: string,
  removed: readonly number[],
  added: readonly (readonly [place: number, message: number, task: number])[],
];

export interface ThreadStep {
  readonly lists: readonly ListChange[];
  /** New texts, and null for texts that are gone. */
  readonly texts: Readonly<Record<string, string | null>>;
  /** The node of each task, or null if it is unknown. */
  readonly nodes: readonly (string | null)[];
  /** True if its messages come from elsewhere and were given to a graph within another. */
  readonly given?: true;
}

/** A line of the file into which a checkpoint database is read. */
export interface ThreadLine {
  readonly langgraph_thread: true;
  readonly id: string;
  /** Every message that was ever in the state. */
  readonly pool: readonly unknown[];
  readonly steps: readonly ThreadStep[];
}

/** Returns the tasks that may have written the additions of a step. */
export type FindTasks = (step: ParallelStep) => readonly Task[];

/** Names that prebuilt agents give the node that calls a model. They do not tell agents apart. */
const GENERIC = /^(?:agent|assistant|chatbot|llm|model|call_model|model_request)$/u;
const START = ['__start__', '__input__'];

/** Builds a thread from its checkpoints, oldest first. */
export class ThreadSteps {
  private readonly pool: unknown[] = [];
  private readonly steps: ThreadStep[] = [];
  /** Indices in the pool. */
  private readonly known = new Map<string, number>();
  private lists = new Map<string, readonly number[]>();
  private before: Checkpoint | null = null;
  private readonly graph: string | null;

  /** @param graph the node that runs this graph in another one, or null for a thread's own graph */
  constructor(graph: string | null = null) {
    this.graph = graph;
  }

  add(checkpoint: Checkpoint, tasksOf: FindTasks): void {
    const first = this.pool.length;
    const lists = new Map([...checkpoint.lists].map(([key, list]) => [key, this.placesOf(list)] as const));
    const texts = this.textChanges(checkpoint);
    const keys = new Set([...this.lists.keys(), ...lists.keys()]);
    const changes = [...keys].map((key) => findListChange(key, this.lists.get(key) ?? [], lists.get(key) ?? []));
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

  /** Returns the thread as a line of the file. */
  line(id: string): ThreadLine {
    return { langgraph_thread: true, id, pool: this.pool, steps: this.steps };
  }

  get isEmpty(): boolean {
    return this.pool.length === 0;
  }

  /** Returns the texts of models in it, each once. */
  said(): Set<string> {
    return saidIn(this.pool);
  }

  /** Returns the pool indices of messages, compared as JSON. Equal ones in a list are distinct. */
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

  /** Returns the messages of the pool from an index on, in the order of a list with all of them. */
  private newOnes(first: number, lists: ReadonlyMap<string, readonly number[]>): NewMessages {
    const places = Array.from({ length: this.pool.length - first }, (_, index) => first + index);
    const ordered = [...lists.values()]
      .map((list) => list.filter((place) => place >= first))
      .find(({ length }) => length === places.length);
    return { places: ordered ?? places, isOrdered: ordered !== undefined };
  }

  /**
   * Returns the tasks of a step. There is one if a single node ran or if the additions came from
   * outside. Otherwise these are the tasks with known writes, and one for each remaining message.
   */
  private writersOf({ seen }: Checkpoint, made: NewMessages, tasksOf: FindTasks): Writers {
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
    return assignWriters(pool, made, nodes, tasksOf({ nodes, seen, sent: before.sent }));
  }
}

interface NewMessages {
  readonly places: readonly number[];
  /** True if they are in the order of one list. */
  readonly isOrdered: boolean;
}

interface Writers {
  readonly nodes: readonly (string | null)[];
  /** True if no node wrote anything, because the messages came from outside. */
  readonly isInput: boolean;
  readonly taskOf: (message: number) => number;
}

/** Finds for each new message the task that wrote it. */
function assignWriters(
  pool: readonly unknown[],
  { places, isOrdered }: NewMessages,
  ran: readonly string[],
  tasks: readonly Task[],
): Writers {
  const byWords = new Map<string, number>();
  for (const [task, { messages }] of tasks.entries()) {
    for (const words of messages.flatMap(listIdentifyingKeys)) {
      // A text that two tasks wrote does not identify the writer. The id, which is looked up first,
      // does.
      byWords.set(words, byWords.has(words) && byWords.get(words) !== task ? -1 : task);
    }
  }
  const nodes = tasks.map(({ node }) => node);
  const only = ran.length === 1 ? (ran[0] ?? null) : null;
  const taskOf = new Map<number, number>();
  for (const message of places) {
    const found = listIdentifyingKeys(pool[message])
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
 * Names tasks by the order of their messages. LangGraph adds the writes of a step in the order of
 * its nodes' names, so the order determines the writers if every remaining node wrote something.
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

/** Returns the texts of models in messages, each once. */
export const saidIn = (messages: readonly unknown[]): Set<string> =>
  new Set(
    messages
      .flatMap((message) => parseMessages([message]))
      .filter(({ role }) => role === 'assistant')
      .map(({ text }) => text),
  );

/** Returns the change from one list to another. The messages of a list are all different. */
function findListChange(
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
  // The order changed, so everything from the first difference on is written anew.
  return [
    key,
    before.slice(start).map((_, index) => start + index),
    after.slice(start).map((message, index) => [start + index, message] as const),
  ];
}
