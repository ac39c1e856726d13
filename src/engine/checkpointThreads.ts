/** Reads the threads of a LangGraph database, with forks and nested graphs that add messages. */

import { closeSync, writeFileSync } from 'node:fs';
import { createNew } from '../files/newFile.ts';
import { readCheckpoint, readSavedValue, findTasks, type ParallelStep, type Task } from '../logs/langGraphState.ts';
import { saidIn, ThreadSteps } from '../logs/langGraphThread.ts';
import { toOneLine } from '../shared/text/oneLine.ts';
import { CheckpointDatabase, type GraphPlace } from '../store/foreign/checkpoints.ts';

/** Maximum characters of a shown key of a state. */
const MOST_NAME = 60;
/** Maximum forks of a thread that become episodes, and maximum checkpoints that are read again for them. */
const MOST_FORKS = 100;
const MOST_READ_AGAIN = 20_000;
/** Maximum unread keys of states that are listed by name. */
const MOST_NAMED = 20;

/**
 * Writes a line into a new file for each thread of a database, each of its forks, and each nested
 * graph.
 * @returns the counts of what was left out, by reason
 * @throws C3Error('input') for any other database; C3Error('store') if SQLite cannot read it
 */
export function writeThreads(database: string, to: string): ReadonlyMap<string, number> {
  const leftOut = new LeftOut();
  const file = createNew(to);
  const db = new CheckpointDatabase(database);
  const write = (thread: ThreadSteps, id: string): void => writeFileSync(file, `${JSON.stringify(thread.line(id))}\n`);
  try {
    for (const thread of db.threads()) {
      const said = new Set<string>();
      const own = new Graph(db, { thread, namespace: '' }, leftOut);
      own.write(thread, said, write);
      for (const place of db.nested(thread)) {
        new Graph(db, place, leftOut).write(`${thread}, ${place.namespace}`, said, write);
      }
      leftOut.nameUnread();
    }
  } finally {
    db.close();
    closeSync(file);
  }
  return leftOut.counts;
}

/** Counts losses, by reason. */
class LeftOut {
  readonly counts = new Map<string, number>();
  /** Keys of the states of a thread that are not read. */
  private readonly unread = new Set<string>();
  private readonly named = new Set<string>();

  add(reason: string, count: number): void {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + count);
  }

  addUnread(keys: readonly string[]): void {
    for (const key of keys) {
      this.unread.add(key);
    }
  }

  /** Counts the current thread once for each of its keys that were not read. */
  nameUnread(): void {
    for (const key of this.unread) {
      const isNamed = this.named.has(key) || this.named.size < MOST_NAMED;
      if (isNamed) {
        this.named.add(key);
      }
      const what = isNamed ? `"${toOneLine(key, MOST_NAME)}"` : 'further keys';
      this.add(`threads' values of ${what}, which are neither texts nor messages`, 1);
    }
    this.unread.clear();
  }
}

/** The checkpoints of one graph of a thread. */
class Graph {
  private readonly db: CheckpointDatabase;
  private readonly place: GraphPlace;
  private readonly leftOut: LeftOut;
  private readonly parents: ReadonlyMap<string, string | null>;
  private readonly ids: readonly string[];
  private unread = 0;

  constructor(db: CheckpointDatabase, place: GraphPlace, leftOut: LeftOut) {
    this.db = db;
    this.place = place;
    this.leftOut = leftOut;
    const outline = db.outline(place);
    this.parents = new Map(outline.map(({ id, parent }) => [id, parent] as const));
    this.ids = outline.map(({ id }) => id);
  }

  /**
   * Writes the path to the last checkpoint, and the path to each other end at which a model says
   * something new. A nested graph is written only if it says something that the graphs around it do not
   * contain.
   * @param said texts of models that are written already; those of this graph are added
   */
  write(id: string, said: Set<string>, write: (thread: ThreadSteps, id: string) => void): void {
    const { ids, leftOut, place } = this;
    const last = ids.at(-1);
    const way = last === undefined ? [] : this.wayTo(last);
    const thread = this.threadOf(way);
    leftOut.add('checkpoints that cannot be read', this.unread);
    this.unread = 0;
    if (place.namespace !== '' && areAllSaid(thread.said(), said)) {
      leftOut.add('checkpoints of graphs within the graph', ids.length);
      return;
    }
    if (thread.isEmpty) {
      leftOut.add('threads without messages in their state', 1);
    } else {
      write(thread, id);
      addAllTo(said, thread.said());
    }
    leftOut.add('messages of steps that did not end', last === undefined ? 0 : this.pending(last, thread));
    this.writeForks(id, new Set(way), said, write);
    leftOut.add('checkpoints that cannot be read', this.unread);
  }

  /** @param visited checkpoints that are written already */
  private writeForks(
    id: string,
    visited: Set<string>,
    said: Set<string>,
    write: (thread: ThreadSteps, id: string) => void,
  ): void {
    const { ids, leftOut, parents } = this;
    const followed = new Set(parents.values());
    let [forks, again, aside] = [0, 0, 0];
    for (const end of ids.filter((one) => !visited.has(one) && !followed.has(one))) {
      const own = this.wayTo(end, visited);
      addAllTo(visited, own);
      if (areAllSaid(this.threadOf(own).said(), said)) {
        aside += own.length;
        continue;
      }
      const way = this.wayTo(end);
      forks++;
      again += way.length;
      if (forks > MOST_FORKS || again > MOST_READ_AGAIN) {
        aside += own.length;
        continue;
      }
      // The unreadable checkpoints before the fork were counted already, with the path that they
      // are on.
      const before = this.unread;
      const thread = this.threadOf(way);
      this.unread = before;
      leftOut.add('messages of steps that did not end', this.pending(end, thread));
      write(thread, `${id}, fork ${forks}`);
      addAllTo(said, thread.said());
    }
    // Checkpoints that no end leads to form a cycle.
    aside += ids.filter((one) => !visited.has(one)).length;
    leftOut.add('checkpoints of forks that the last one does not follow', aside);
  }

  /** Returns the checkpoints that lead to `end`, oldest first; in a cycle, each one only once. */
  private wayTo(end: string, visited: ReadonlySet<string> = new Set()): string[] {
    const way = new Set<string>();
    for (let at: string | null = end; at !== null && !way.has(at) && !visited.has(at) && this.parents.has(at);) {
      way.add(at);
      at = this.parents.get(at) ?? null;
    }
    return [...way].toReversed();
  }

  private threadOf(way: readonly string[]): ThreadSteps {
    const { db, place } = this;
    const thread = new ThreadSteps(parseGraphName(place.namespace));
    for (const [index, id] of way.entries()) {
      const parent = way[index - 1];
      try {
        const row = db.checkpoint(place, id);
        const checkpoint = row?.value === null || row === null ? null : readCheckpoint(row.type, row.value);
        if (checkpoint !== null) {
          thread.add(checkpoint, (step) =>
            parent === undefined ? [] : this.tasksOf(parent, step, this.metadataOf(id)),
          );
          this.leftOut.addUnread(checkpoint.unread);
          continue;
        }
      } catch (error) {
        // Values that are nested too deeply to be read.
        if (!(error instanceof RangeError)) {
          throw error;
        }
      }
      this.unread++;
    }
    return thread;
  }

  /** @param id of the checkpoint that the step starts from */
  private tasksOf(id: string, step: ParallelStep, metadata: unknown): Task[] {
    const rows = this.db
      .writes(this.place, id)
      .map(({ task, channel, type, value }) => ({ task, channel, value: readSavedValue(type, value) }));
    return findTasks(rows, step, { checkpoint: id, namespace: this.place.namespace }, metadata);
  }

  private metadataOf(id: string): unknown {
    const metadata = this.db.metadata(this.place, id);
    return metadata === null ? null : readSavedValue('json', metadata);
  }

  /** Returns the number of messages that the unfinished step after a checkpoint wrote. */
  private pending(id: string, thread: ThreadSteps): number {
    const known = thread.said();
    return this.tasksOf(id, { nodes: [], seen: new Map(), sent: [] }, null)
      .map(({ messages }) => [...saidIn(messages)].filter((text) => !known.has(text)).length)
      .reduce((sum, count) => sum + count, 0);
  }
}

const areAllSaid = (texts: ReadonlySet<string>, said: ReadonlySet<string>): boolean =>
  [...texts].every((text) => said.has(text));

function addAllTo(to: Set<string>, more: Iterable<string>): void {
  for (const one of more) {
    to.add(one);
  }
}

/** Returns the node of the outer graph that runs this graph: `planner` in `team:1|planner:2`. */
const parseGraphName = (namespace: string): string | null =>
  /(?:^|\|)([^:|]+)(?::[^|]*)?$/u.exec(namespace)?.[1] ?? null;
