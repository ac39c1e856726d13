/** What was said in the threads of a LangGraph database, with the contexts that it had. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { encode, ExtData } from '@msgpack/msgpack';
import { writeThreads } from '../../../src/engine/checkpointThreads.ts';
import { loadSqlite } from '../../../src/store/files/sqlite.ts';
import { wholeLog } from '../logs/wholeLog.ts';

interface Saved {
  readonly id: string;
  readonly parent?: string;
  readonly thread?: string;
  readonly namespace?: string;
  readonly state: Readonly<Record<string, unknown>>;
  /** The nodes that ran so far, each as often as it did. */
  readonly ran?: Readonly<Record<string, number>>;
  readonly metadata?: unknown;
  /** What tasks wrote of the step that begins here: the task, the channel, the value. */
  readonly writes?: readonly (readonly [string, string, unknown])[];
}

// Before anything else loads it: it is asked once whether files have addresses.
const Database = loadSqlite();

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const packed = (value: unknown): Buffer => Buffer.from(encode(value));

/** A message of LangGraph JS. */
const js = (type: string, content: string, id: string): unknown => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', `${type}Message`],
  kwargs: { content, id },
});
/** A message of LangGraph for Python. */
const python = (type: string, content: string, id: string, more = {}): ExtData => {
  const kind = type.toLowerCase();
  const fields = { content, type: kind, id, ...more };
  return new ExtData(5, encode([`langchain_core.messages.${kind}`, `${type}Message`, fields, 'model_validate_json']));
};

/** The path of a database with these checkpoints. */
function databaseOf(t: TestContext, saved: readonly Saved[], type: 'json' | 'msgpack' = 'json'): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-threads-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'checkpoints.sqlite');
  const db = new Database(path);
  db.exec(
    `CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT,
       type TEXT, checkpoint BLOB, metadata BLOB);
     CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER,
       channel TEXT, type TEXT, value BLOB);`,
  );
  const bytesOf = type === 'json' ? json : packed;
  for (const {
    id,
    parent = null,
    thread = 't',
    namespace = '',
    state,
    ran = {},
    metadata = {},
    writes = [],
  } of saved) {
    const seen = Object.fromEntries(
      Object.entries(ran).map(([node, times]) => [node, { [`branch:to:${node}`]: times }]),
    );
    const value = bytesOf({ v: 4, id, channel_values: state, versions_seen: seen });
    db.prepare('INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)').run(
      ...[thread, namespace, id, parent, type, value, json(metadata)],
    );
    for (const [index, [task, channel, wrote]] of writes.entries()) {
      db.prepare('INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
        ...[thread, namespace, id, task, index, channel, type, bytesOf(wrote)],
      );
    }
  }
  db.close();
  return path;
}

interface Told {
  /** By episode; each message with what was before it. */
  readonly episodes: Readonly<Record<string, readonly string[]>>;
  readonly questions: readonly string[];
  readonly leftOut: Readonly<Record<string, number>>;
}

function told(path: string): Told {
  const leftOut = new Map([...writeThreads(path, `${path}.jsonl`)].filter(([, count]) => count > 0));
  const log = wholeLog(readFileSync(`${path}.jsonl`));
  const episodes = log.episodes.map(({ id, entries }) => [
    id,
    entries.map((entry) =>
      entry.kind === 'event'
        ? `[${entry.source}] ${entry.text}`
        : `${entry.speaker} > ${entry.text} < ${entry.context.list
            .slice(0, entry.context.length)
            .map(({ role, name, text }) => `${name ?? role}: ${text}`)
            .join(' | ')}`,
    ),
  ]);
  return {
    episodes: Object.fromEntries(episodes) as Told['episodes'],
    questions: log.episodes.map(({ question }) => question),
    leftOut: Object.fromEntries([...leftOut, ...log.leftOut]),
  };
}

const [asked, plan, more, booked] = [
  js('Human', 'Plan a day in Rome.', 'h1'),
  js('AI', 'Morning: the forum.', 'a1'),
  js('Human', 'And lunch?', 'h2'),
  js('AI', 'A table at one.', 'a2'),
];
const ended = js('AI', 'Enjoy it.', 'a3');

describe('threads of LangGraph', () => {
  it('have each message with the context that it had, also where a summary took it out of the state', (t) => {
    const path = databaseOf(t, [
      { id: '1', state: { messages: [asked] } },
      { id: '2', parent: '1', state: { messages: [asked, plan] }, ran: { planner: 1 } },
      { id: '3', parent: '2', state: { messages: [asked, plan, more] }, ran: { planner: 1, __input__: 1 } },
      { id: '4', parent: '3', state: { messages: [asked, plan, more, booked] }, ran: { planner: 1, booker: 1 } },
      {
        id: '5',
        parent: '4',
        state: { messages: [booked], summary: 'Rome, the forum.', plan: ['forum'], steps: 3 },
        ran: { planner: 1, booker: 1, summarise: 1 },
      },
      {
        id: '6',
        parent: '5',
        state: { messages: [booked, ended], summary: 'Rome, the forum.', verdict: 'good' },
        ran: { planner: 1, booker: 1, summarise: 1, closer: 1 },
      },
    ]);
    assert.deepEqual(told(path), {
      episodes: {
        t: [
          'planner > Morning: the forum. < user: Plan a day in Rome.',
          '[user] And lunch?',
          'booker > A table at one. < user: Plan a day in Rome. | assistant: Morning: the forum. | user: And lunch?',
          'closer > Enjoy it. < summary: Rome, the forum. | assistant: A table at one.',
        ],
      },
      questions: ['Plan a day in Rome.'],
      leftOut: {
        'threads\' values of "plan", which are neither texts nor messages': 1,
        'texts of states under the key "verdict" that no message followed': 1,
      },
    });
  });

  it('say which of two nodes of one step wrote what, by what each task wrote, and neither saw the other', (t) => {
    const question = python('Human', 'Which way?', 'h');
    const [left, right, named] = [
      python('AI', 'Left.', '1'),
      python('AI', 'Right.', '2'),
      python('AI', 'Straight.', '3', { name: 'scout' }),
    ];
    // Before they enter the state, messages have no id.
    const write = (content: string): ExtData => python('AI', content, '');
    const path = databaseOf(
      t,
      [
        {
          id: '1',
          state: { messages: [question] },
          writes: [
            ['task 2', 'branch:east:choose', 'x'],
            ['task 2', 'messages', [write('Right.')]],
            ['task 1', 'messages', [write('Left.')]],
            ['task 3', 'messages', write('Straight.')],
          ],
        },
        {
          id: '2',
          parent: '1',
          state: { messages: [question, left, right, named] },
          ran: { west: 1, east: 1, north: 1 },
        },
      ],
      'msgpack',
    );
    assert.deepEqual(told(path).episodes, {
      t: [
        'north > Left. < user: Which way?',
        'east > Right. < user: Which way?',
        'scout > Straight. < user: Which way?',
      ],
    });
  });

  it('name nobody where nothing says which node wrote a message; older versions say it in their metadata', (t) => {
    const parallel = (metadata: unknown): string =>
      databaseOf(t, [
        { id: '1', state: { messages: [asked] } },
        { id: '2', parent: '1', state: { messages: [asked, plan, booked] }, ran: { one: 1, two: 1 }, metadata },
      ]);
    const seen = 'user: Plan a day in Rome.';
    assert.deepEqual(told(parallel({})).episodes, {
      t: [`assistant > Morning: the forum. < ${seen}`, `assistant > A table at one. < ${seen}`],
    });
    assert.deepEqual(told(parallel({ writes: { two: { messages: [plan] }, one: { messages: booked } } })).episodes, {
      t: [`two > Morning: the forum. < ${seen}`, `one > A table at one. < ${seen}`],
    });
  });

  it('say who ran by the ids that LangGraph JS gives tasks, and tell apart what was sent to one node twice', (t) => {
    // Ids as LangGraph JS 1.7.3 made them for these nodes and steps.
    const ids = [
      '1f1ea718-0c71-6210-8000-c4766f314251',
      '1f1ea718-0cfe-6bb0-8001-02fee4d5b7b7',
      '1f1ea718-0d03-69d0-8002-495f6d14ed4e',
    ] as const;
    const [one, two] = [js('AI', 'One.', 'w1'), js('AI', 'Two.', 'w2')];
    const sends = [1, 2].map((n) => ({ lg_name: 'Send', node: 'worker', args: { n } }));
    const seen = { adam: 1, quiet: 1, zoe: 1 };
    const path = databaseOf(t, [
      {
        id: ids[0],
        state: { messages: [asked] },
        writes: [
          ['6b939285-057d-54c9-b50f-e3eb9bde823c', 'mood', 'calm'],
          ['7a8ab2e8-db2b-50c9-ac6d-18df46337bef', 'messages', [plan]],
          ['a6e519fc-901b-575c-a6d0-15493cdb7c79', 'messages', [booked]],
        ],
      },
      {
        id: ids[1],
        parent: ids[0],
        state: { messages: [asked, booked, plan], mood: 'calm', __pregel_tasks: sends },
        ran: seen,
        metadata: { source: 'loop', step: 1, parents: {} },
        writes: [
          ['5eba235c-1127-553a-b51c-068c66fb7ab3', 'messages', [one]],
          ['75920729-56a7-51e5-be38-322f622aeda6', 'messages', [two]],
        ],
      },
      {
        id: ids[2],
        parent: ids[1],
        // Of a step with tasks that were sent, nothing says that it ran a node that had run before.
        state: { messages: [asked, booked, plan, one, two], mood: 'calm', __pregel_tasks: [] },
        ran: { ...seen, zoe: 2 },
        metadata: { source: 'loop', step: 2, parents: {} },
      },
    ]);
    const before = 'user: Plan a day in Rome.';
    const later = `mood: calm | ${before} | assistant: A table at one. | assistant: Morning: the forum.`;
    assert.deepEqual(told(path).episodes, {
      t: [
        `adam > A table at one. < ${before}`,
        `zoe > Morning: the forum. < ${before}`,
        `worker > One. < ${later}`,
        `worker > Two. < ${later}`,
      ],
    });
  });

  it('read lists of single agents too, a message that is in two of them once', (t) => {
    const path = databaseOf(t, [
      { id: '1', state: { messages: [asked], topic: 'Rome' } },
      {
        id: '2',
        parent: '1',
        state: { messages: [asked], topic: 'Rome', planner_messages: [plan] },
        ran: { planner: 1 },
      },
      {
        id: '3',
        parent: '2',
        state: { messages: [asked, booked], topic: 'Rome', planner_messages: [plan], booker_messages: [booked] },
        ran: { planner: 1, booker: 1 },
      },
    ]);
    assert.deepEqual(told(path).episodes, {
      t: [
        'planner > Morning: the forum. < topic: Rome | user: Plan a day in Rome.',
        'booker > A table at one. < topic: Rome | user: Plan a day in Rome.',
      ],
    });
  });

  it('are an episode for each end and each graph within that says something new; others are counted', (t) => {
    const inner = js('AI', 'Checked twice.', 'i1');
    const path = databaseOf(t, [
      { id: '1', state: { messages: [asked] } },
      { id: '2', parent: '1', state: { messages: [asked, plan] }, ran: { planner: 1 } },
      { id: '3', parent: '2', state: { messages: [asked, plan, booked] }, ran: { planner: 1, booker: 1 } },
      // The same again says nothing new.
      { id: '4', parent: '1', state: { messages: [asked, plan] }, ran: { planner: 1 } },
      { id: '5', parent: '2', state: { messages: [asked, plan, ended] }, ran: { planner: 1, closer: 1 } },
      { id: '6', namespace: 'closer:7', state: { messages: [asked, plan] } },
      { id: '7', namespace: 'closer:7', parent: '6', state: { messages: [asked, plan, inner] }, ran: { agent: 1 } },
      { id: '8', namespace: 'other:9', state: { messages: [asked, plan] } },
      // A circle has no end.
      { id: '01', parent: '02', state: {} },
      { id: '02', parent: '01', state: {} },
    ]);
    const before = 'user: Plan a day in Rome.';
    assert.deepEqual(told(path), {
      episodes: {
        t: [
          `planner > Morning: the forum. < ${before}`,
          `closer > Enjoy it. < ${before} | assistant: Morning: the forum.`,
        ],
        't, fork 1': [
          `planner > Morning: the forum. < ${before}`,
          `booker > A table at one. < ${before} | assistant: Morning: the forum.`,
        ],
        't, closer:7': [`closer > Checked twice. < ${before} | assistant: Morning: the forum.`],
      },
      questions: Array.from({ length: 3 }, () => 'Plan a day in Rome.'),
      leftOut: {
        'checkpoints of forks that the last one does not follow': 3,
        'checkpoints of graphs within the graph': 1,
      },
    });
  });

  it('count what a step wrote that did not end', (t) => {
    const path = databaseOf(t, [
      { id: '1', state: { messages: [asked, plan] }, writes: [['task', 'messages', [booked]]] },
    ]);
    assert.deepEqual(told(path).leftOut, { 'messages of steps that did not end': 1 });
  });

  it('are refused nothing for what is nested too deeply or in no form: that is counted', (t) => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const path = databaseOf(t, [
      { id: '1', state: { messages: [asked] } },
      { id: '3', parent: '2', state: { messages: [asked, plan] }, ran: { planner: 1 } },
    ]);
    const db = new Database(path);
    const value = `{"channel_values":{"messages":[{"role":"user","content":"x","more":${deep}}]}}`;
    db.prepare(`INSERT INTO checkpoints VALUES ('t', '', '2', '1', 'json', ?, NULL)`).run(Buffer.from(value));
    db.close();
    assert.deepEqual(told(path), {
      episodes: { t: ['planner > Morning: the forum. < user: Plan a day in Rome.'] },
      questions: ['Plan a day in Rome.'],
      leftOut: { 'checkpoints that cannot be read': 1 },
    });
  });
});
