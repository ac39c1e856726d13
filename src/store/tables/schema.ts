/**
 * The tables of version 1 of the store. Names are those of the design; every table is strict.
 *
 * Long hashes that many rows repeat (instance, snapshot, context, text) are stored once and
 * referred to by a small integer; the interfaces of the store use only the hashes. Blobs are the
 * last columns of a row, so that lists never read them.
 */

/** The application id in the SQLite header of a C3 store: "C3RP". */
export const APPLICATION_ID = 0x43335250;

/** Tables whose rows are appended and never changed, with the key conditions of an INSERT OR REPLACE. */
const APPEND_ONLY: readonly (readonly [table: string, key: string])[] = [
  ['text', 'id = NEW.id OR sha256 = NEW.sha256'],
  ['context', 'id = NEW.id OR key = NEW.key'],
  ['decision', 'id = NEW.id'],
  ['bucket', 'id = NEW.id'],
  ['alternative', 'bucket = NEW.bucket AND decision = NEW.decision'],
  ['episode', 'id = NEW.id'],
  [
    'replay',
    'id = NEW.id OR (bucket = NEW.bucket AND alternative = NEW.alternative AND replay_index = NEW.replay_index)',
  ],
  ['credit', 'id = NEW.id'],
  ['verification', 'id = NEW.id'],
  ['label', 'id = NEW.id'],
];

const TABLES = `
CREATE TABLE text (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE context (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  text INTEGER NOT NULL REFERENCES text
) STRICT;

CREATE TABLE instance (
  id INTEGER PRIMARY KEY,
  uid_sha TEXT NOT NULL UNIQUE,
  uid TEXT NOT NULL,
  question TEXT NOT NULL,
  answer TEXT NOT NULL,
  source TEXT NOT NULL,
  level REAL
) STRICT;

CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  runtime TEXT NOT NULL,
  provider TEXT NOT NULL,
  device TEXT NOT NULL,
  threads INTEGER NOT NULL,
  platform TEXT NOT NULL,
  UNIQUE (runtime, provider, device, threads, platform)
) STRICT;

CREATE TABLE run (
  id TEXT PRIMARY KEY,
  method TEXT NOT NULL,
  seed INTEGER NOT NULL,
  title TEXT NOT NULL,
  config TEXT NOT NULL,
  planned_steps INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'done', 'cancelled', 'failed')),
  created_at TEXT NOT NULL,
  finished_at TEXT,
  summary TEXT
) STRICT;
CREATE INDEX run_created ON run (created_at);

CREATE TABLE snapshot (
  id INTEGER PRIMARY KEY,
  weights TEXT NOT NULL,
  run TEXT NOT NULL REFERENCES run,
  iteration INTEGER NOT NULL,
  base TEXT NOT NULL,
  file TEXT,
  UNIQUE (weights, run)
) STRICT;
CREATE INDEX snapshot_run ON snapshot (run, iteration);

CREATE TABLE step (
  run TEXT NOT NULL REFERENCES run,
  iteration INTEGER NOT NULL,
  snapshot INTEGER NOT NULL REFERENCES snapshot,
  ledger TEXT NOT NULL,
  metrics TEXT,
  PRIMARY KEY (run, iteration)
) STRICT;

CREATE TABLE bucket (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  origin TEXT NOT NULL CHECK (origin IN ('training', 'request')),
  iteration INTEGER NOT NULL,
  instance INTEGER NOT NULL REFERENCES instance,
  event_type TEXT NOT NULL,
  turn INTEGER NOT NULL,
  context_key TEXT NOT NULL,
  snapshot INTEGER NOT NULL REFERENCES snapshot,
  message INTEGER REFERENCES decision
) STRICT;
CREATE INDEX bucket_context ON bucket (run, event_type, context_key);
CREATE INDEX bucket_origin ON bucket (run, origin);

CREATE TABLE decision (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  phase TEXT NOT NULL CHECK (phase IN ('train', 'evaluate', 'replay')),
  iteration INTEGER NOT NULL,
  instance INTEGER NOT NULL REFERENCES instance,
  snapshot INTEGER NOT NULL REFERENCES snapshot,
  environment INTEGER NOT NULL REFERENCES environment,
  event_type TEXT NOT NULL,
  turn INTEGER NOT NULL,
  position INTEGER NOT NULL,
  parent INTEGER REFERENCES decision,
  bucket INTEGER REFERENCES bucket,
  sibling_index INTEGER NOT NULL,
  context INTEGER NOT NULL REFERENCES context,
  message INTEGER NOT NULL REFERENCES text,
  stream_key TEXT NOT NULL,
  temperature REAL NOT NULL,
  top_p REAL NOT NULL,
  top_k INTEGER NOT NULL,
  max_new_tokens INTEGER NOT NULL,
  finish TEXT NOT NULL CHECK (finish IN ('end', 'length', 'typed')),
  prompt_tokens INTEGER NOT NULL,
  reused_tokens INTEGER NOT NULL,
  token_hash TEXT NOT NULL,
  tokens BLOB NOT NULL,
  logprobs BLOB NOT NULL
) STRICT;
CREATE INDEX decision_tree ON decision (run, phase, iteration, instance, id, parent, sibling_index);
CREATE INDEX decision_parent ON decision (parent) WHERE parent IS NOT NULL;
CREATE INDEX decision_bucket ON decision (bucket) WHERE bucket IS NOT NULL;
CREATE INDEX decision_message ON decision (message);

CREATE TABLE alternative (
  bucket INTEGER NOT NULL REFERENCES bucket,
  decision INTEGER NOT NULL REFERENCES decision,
  idx INTEGER NOT NULL,
  original INTEGER NOT NULL CHECK (original IN (0, 1)),
  PRIMARY KEY (bucket, decision)
) STRICT, WITHOUT ROWID;

CREATE TABLE episode (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  phase TEXT NOT NULL CHECK (phase IN ('train', 'evaluate', 'replay')),
  iteration INTEGER NOT NULL,
  instance INTEGER NOT NULL REFERENCES instance,
  leaf INTEGER NOT NULL REFERENCES decision,
  return REAL,
  rule TEXT NOT NULL,
  evaluator_calls INTEGER NOT NULL
) STRICT;
CREATE INDEX episode_group ON episode (run, phase, iteration, instance);

CREATE TABLE replay (
  id INTEGER PRIMARY KEY,
  bucket INTEGER NOT NULL REFERENCES bucket,
  alternative INTEGER NOT NULL REFERENCES decision,
  replay_index INTEGER NOT NULL,
  leaf INTEGER NOT NULL REFERENCES decision,
  return REAL,
  evaluator_calls INTEGER NOT NULL,
  token_hash TEXT NOT NULL,
  environment INTEGER NOT NULL REFERENCES environment,
  UNIQUE (bucket, alternative, replay_index)
) STRICT;

CREATE TABLE credit (
  id INTEGER PRIMARY KEY,
  bucket INTEGER NOT NULL REFERENCES bucket,
  decision INTEGER NOT NULL REFERENCES decision,
  estimator TEXT NOT NULL,
  value REAL NOT NULL,
  low REAL,
  high REAL,
  n INTEGER NOT NULL,
  evaluator_calls INTEGER NOT NULL,
  interval TEXT NOT NULL
) STRICT;
CREATE INDEX credit_bucket ON credit (bucket, decision, estimator);

CREATE TABLE verification (
  id INTEGER PRIMARY KEY,
  replay INTEGER NOT NULL REFERENCES replay,
  result TEXT NOT NULL CHECK (result IN ('identical', 'different', 'notComparable')),
  detail TEXT NOT NULL,
  environment INTEGER NOT NULL REFERENCES environment
) STRICT;
CREATE INDEX verification_replay ON verification (replay);

CREATE TABLE label (
  id INTEGER PRIMARY KEY,
  message INTEGER REFERENCES decision,
  bucket INTEGER REFERENCES bucket,
  name TEXT NOT NULL,
  note TEXT NOT NULL,
  created_at TEXT NOT NULL,
  CONSTRAINT label_names_message_or_bucket CHECK (message IS NOT NULL OR bucket IS NOT NULL)
) STRICT;
CREATE INDEX label_message ON label (message) WHERE message IS NOT NULL;
CREATE INDEX label_bucket ON label (bucket) WHERE bucket IS NOT NULL;
`;

// Each distinct message text is indexed once, with its first message. Contexts are not indexed.
const SEARCH = `
CREATE VIRTUAL TABLE message_search USING fts5 (
  body, content = 'text', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
);
CREATE TRIGGER decision_indexed AFTER INSERT ON decision
WHEN NOT EXISTS (SELECT 1 FROM decision WHERE message = NEW.message AND id <> NEW.id)
BEGIN
  INSERT INTO message_search (rowid, body) SELECT id, body FROM text WHERE id = NEW.message;
END;
`;

/**
 * Returns triggers that refuse changes of a table's rows.
 * @param key condition for rows that an INSERT OR REPLACE would replace, in terms of NEW
 */
export function guardTriggers(table: string, key: string): string {
  const refuse = `BEGIN SELECT RAISE(ABORT, 'rows of ${table} are never changed'); END;`;
  return `
CREATE TRIGGER ${table}_no_update BEFORE UPDATE ON ${table} ${refuse}
CREATE TRIGGER ${table}_no_delete BEFORE DELETE ON ${table} ${refuse}
CREATE TRIGGER ${table}_no_replace BEFORE INSERT ON ${table} WHEN EXISTS (SELECT 1 FROM ${table} WHERE ${key}) ${refuse}`;
}

/** The SQL that turns an empty file into a store of version 1. */
export const VERSION_1 = TABLES + SEARCH + APPEND_ONLY.map(([table, key]) => guardTriggers(table, key)).join('\n');
