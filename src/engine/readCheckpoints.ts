/**
 * Entry of the process that reads the checkpoints of a LangGraph database: `readCheckpoints DATABASE OUT`. It writes a
 * line of JSON for each thread into a new file and says to its parent what was left out. A thread reads, so that the
 * process still hears when its parent is gone: damage can make a look endless, and nothing else would end it then.
 */
import { closeSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, SHARE_ENV, Worker } from 'node:worker_threads';
import { createNew } from '../files/newFile.ts';
import { checkpointOf, ThreadMessages } from '../logs/langGraph.ts';
import { messageOf } from '../shared/errors.ts';
import { CheckpointDatabase } from '../store/foreign/checkpoints.ts';

const [path, out] = process.argv.slice(2);
if (path === undefined || out === undefined) {
  throw new Error('This file is the entry of a process that reads checkpoints.');
}
if (isMainThread) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // SQLite reads the variable that allows addresses of files from the process itself.
  new Worker(fileURLToPath(import.meta.url), { argv: [path, out], env: SHARE_ENV }).once('message', (said: unknown) =>
    process.send?.(said),
  );
} else {
  parentPort?.postMessage(answer(path, out));
}

function answer(database: string, to: string): { error: string } | { leftOut: Record<string, number> } {
  try {
    return { leftOut: Object.fromEntries(writeThreads(database, to)) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function writeThreads(database: string, to: string): ReadonlyMap<string, number> {
  const leftOut = new Map<string, number>();
  const leave = (reason: string, count: number): void => {
    leftOut.set(reason, (leftOut.get(reason) ?? 0) + count);
  };
  const file = createNew(to);
  const db = new CheckpointDatabase(database);
  try {
    leave('checkpoints of graphs within the graph', db.nested());
    for (const thread of db.threads()) {
      const { messages, unread, aside } = threadOf(db, thread);
      leave('checkpoints that cannot be read', unread);
      leave('checkpoints of forks that the last one does not follow', aside);
      leave('threads without messages in their state', messages.length === 0 ? 1 : 0);
      if (messages.length > 0) {
        writeFileSync(file, `${JSON.stringify({ langgraph_thread: true, id: thread, messages })}\n`);
      }
    }
  } finally {
    db.close();
    closeSync(file);
  }
  return leftOut;
}

/** The messages on the way to a thread's last checkpoint. */
function threadOf(
  db: CheckpointDatabase,
  thread: string,
): { readonly messages: unknown[]; readonly unread: number; readonly aside: number } {
  const outline = db.outline(thread);
  const parents = new Map(outline.map(({ id, parent }) => [id, parent] as const));
  const way: string[] = [];
  // A circle ends where it comes back to.
  const seen = new Set<string>();
  for (
    let at = outline.at(-1)?.id ?? null;
    at !== null && parents.has(at) && !seen.has(at);
    at = parents.get(at) ?? null
  ) {
    way.push(at);
    seen.add(at);
  }
  const collected = new ThreadMessages();
  let unread = 0;
  for (const id of way.toReversed()) {
    const row = db.checkpoint(thread, id);
    const checkpoint = row?.value === null || row === null ? null : checkpointOf(row.type, row.value);
    if (checkpoint === null) {
      unread++;
    } else {
      collected.add(checkpoint);
    }
  }
  return { messages: collected.messages(), unread, aside: outline.length - way.length };
}
