/** The appends of a writer. Statements are prepared once; an append of several rows is one transaction. */

import type { Problem } from '../../domain/problem.ts';
import type { RunStatus } from '../../domain/run.ts';
import { WITHIN_STEP, type Snapshot, type NumericEnvironment } from '../../domain/snapshot.ts';
import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import { withStoreErrors, translateErrors, type Session, type Connection } from '../files/sqlite.ts';
import { diagnosticWriters } from '../tables/diagnostics.ts';
import { environmentEventWriters } from '../tables/environmentEvents.ts';
import { episodeNoteWriter } from '../tables/episodeNotes.ts';
import { evaluationWriter } from '../tables/evaluations.ts';
import type { HeadlineKeeper } from '../tables/headlines.ts';
import { labelWriter } from '../tables/labels.ts';
import { measurementWriter } from '../tables/measurements.ts';
import { methodStateWriter } from '../tables/methodStates.ts';
import { formatTests } from '../tables/problemTests.ts';
import { accountWriter } from '../tables/runAccounts.ts';
import { runNoteWriter } from '../tables/runNotes.ts';
import { spendingWriter } from '../tables/spending.ts';
import { stageWriter } from '../tables/stages.ts';
import { differenceWriter } from '../tables/verificationDifferences.ts';
import { viewAsBuffer, tokenHash } from '../tokens.ts';
import type { NewRun, NewVerification, StoreReader, StoreWriter } from '../types.ts';
import { runDeleter } from './deleteRun.ts';
import { textWriter, type TextWriter } from './texts.ts';

type Appenders = Omit<StoreWriter, keyof StoreReader | 'describeHolder' | 'closeUnsealed'>;

/**
 * Values of the fastest growing tables are passed by position, in the order of the named columns,
 * because passing by name needs a look-up for each value.
 */
type Value = string | number | Buffer | null;

export function makeAppenders(session: Session, headlines: HeadlineKeeper): Appenders {
  const { db, path } = session;
  const texts = textWriter(session);
  const keys = keyWriter(session);

  /** Clears the caches, because cached rows may have been rolled back. */
  function forget(): void {
    headlines.forget();
    texts.forget();
    keys.forget();
  }

  function transaction<Result>(work: () => Result): Result {
    // Only the outermost transaction derives headlines.
    const outermost = !db.inTransaction;
    const whole = (): Result => {
      const result = work();
      if (outermost) {
        headlines.deriveTouched();
      }
      return result;
    };
    try {
      return translateErrors(path, () => db.transaction(whole).immediate());
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Wraps an append of several rows in a transaction unless one is open. */
  function together<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result {
    return (...args) =>
      db.inTransaction ? translateErrors(path, () => work(...args)) : transaction(() => work(...args));
  }

  return {
    transaction,
    bulk: (work) => transaction(() => texts.inBulk(() => appendInBulk(db, work))),
    ...runAppenders(session, keys, headlines),
    ...creditAppenders(session, headlines),
    refreshHeadlines: () => headlines.refresh(),
    ...accountWriter(session),
    ...diagnosticWriters(session),
    ...evaluationWriter(session),
    ...methodStateWriter(session),
    ...stageWriter(session),
    ...spendingWriter(session),
    ...environmentEventWriters(session),
    ...labelWriter(session),
    ...runNoteWriter(session),
    ...episodeNoteWriter(session),
    ...runDeleter(session, forget),
    insertProblems: together((problems) => problems.forEach(keys.storeProblem)),
    environmentId: together(keys.environmentId),
    insertMessage: together(messageAppender(session, keys, texts)),
  };
}

function messageAppender(session: Session, keys: KeyWriter, texts: TextWriter): StoreWriter['insertMessage'] {
  const { db } = session;
  const insert = db.prepare<[readonly Value[]]>(`
    INSERT INTO decision (run, phase, iteration, instance, snapshot, environment, event_type, turn, position, parent, bucket, sibling_index, context,
      message, stream_key, temperature, top_p, top_k, max_new_tokens, finish, prompt_tokens, reused_tokens, token_hash, tokens, logprobs)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertMeasured = measurementWriter(session);
  return (message) => {
    const { run, tokens, logprobs, sampling } = message;
    if (logprobs.length !== 0 && logprobs.length !== tokens.length) {
      throw new C3Error(
        'store',
        `A message of ${tokens.length} tokens came with ${logprobs.length} log-probabilities ` +
          `(run ${run}, ${message.role}): give one each, or none.`,
      );
    }
    const id = Number(
      insert.run([
        run,
        message.phase,
        message.iteration,
        keys.problemId(message.problem),
        keys.snapshotId(run, message.snapshot),
        message.environment,
        message.role,
        message.turn,
        message.position,
        message.parent,
        message.bucket,
        message.siblingIndex,
        texts.contextId(message.contextKey, message.context),
        texts.textId(message.text),
        message.streamKey,
        sampling.temperature,
        sampling.topP,
        sampling.topK,
        sampling.maxNewTokens,
        message.finish,
        message.promptTokens,
        message.reusedTokens,
        tokenHash(tokens),
        viewAsBuffer(tokens),
        viewAsBuffer(logprobs),
      ]).lastInsertRowid,
    );
    if (message.measured !== undefined) {
      insertMeasured(id, message.measured);
    }
    return id;
  };
}

type RunAppenders = Pick<
  Appenders,
  | 'insertRun'
  | 'updateRunConfig'
  | 'updateRunStatus'
  | 'markInterrupted'
  | 'insertSnapshot'
  | 'insertStep'
  | 'finishStep'
  | 'insertEpisode'
  | 'insertBucket'
  | 'nextRequestNumber'
>;

function runAppenders(session: Session, keys: KeyWriter, headlines: Pick<HeadlineKeeper, 'noteRun'>): RunAppenders {
  const { db, path } = session;
  const insertRun = db.prepare<[NewRun]>(`
    INSERT INTO run (id, method, seed, title, config, planned_steps, status, created_at)
    VALUES (@id, @method, @seed, @title, @config, @plannedSteps, 'running', @createdAt)`);
  const updateConfig = db.prepare<[{ id: string; config: string }]>('UPDATE run SET config = @config WHERE id = @id');
  const updateRun = db.prepare<[{ id: string; status: RunStatus; finishedAt: string | null; summary: string | null }]>(
    'UPDATE run SET status = @status, finished_at = @finishedAt, summary = @summary WHERE id = @id',
  );
  const markInterrupted = db.prepare(
    "UPDATE run SET status = 'failed', finished_at = NULL, summary = NULL WHERE status = 'running'",
  );
  const insertSnapshot = db.prepare<[Snapshot]>(`
    INSERT INTO snapshot (weights, run, iteration, base, file) VALUES (@id, @run, @iteration, @base, @file)
    ON CONFLICT (weights, run) DO UPDATE SET file = coalesce(excluded.file, file),
      iteration = iif(iteration = ${WITHIN_STEP}, excluded.iteration, iteration)`);
  const insertStep = db.prepare<[{ run: string; iteration: number; snapshot: number; ledger: string }]>(`
    INSERT INTO step (run, iteration, snapshot, ledger) VALUES (@run, @iteration, @snapshot, @ledger)
    ON CONFLICT (run, iteration) DO UPDATE SET snapshot = excluded.snapshot, ledger = excluded.ledger WHERE metrics IS NULL`);
  const finishStep = db.prepare<[{ run: string; iteration: number; metrics: string; ledger: string }]>(
    'UPDATE step SET metrics = @metrics, ledger = @ledger WHERE run = @run AND iteration = @iteration AND metrics IS NULL',
  );
  const insertEpisode = db.prepare<[readonly Value[]]>(`
    INSERT INTO episode (run, phase, iteration, instance, leaf, return, rule, evaluator_calls) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertBucket = db.prepare<[readonly Value[]]>(`
    INSERT INTO bucket (run, origin, iteration, instance, event_type, turn, context_key, snapshot, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const countRequests = db
    .prepare<[string], number>("SELECT count(*) FROM bucket WHERE run = ? AND origin IN ('request', 'diagnostic')")
    .pluck();

  function mustChange(changes: number, what: string): void {
    if (changes === 0) {
      throw new C3Error(
        'store',
        `The store ${path} has no ${what}: nothing was changed; check the run and its iteration.`,
      );
    }
  }

  return {
    insertRun: withStoreErrors(session, (run) => {
      insertRun.run(run);
      headlines.noteRun(run.id);
    }),
    updateRunConfig: withStoreErrors(session, (id, config) => {
      mustChange(updateConfig.run({ id, config }).changes, `run ${id}`);
      headlines.noteRun(id);
    }),
    updateRunStatus: withStoreErrors(session, (id, status, finishedAt, summary) => {
      mustChange(
        updateRun.run({ id, status, finishedAt, summary: summary === null ? null : JSON.stringify(summary) }).changes,
        `run ${id}`,
      );
    }),
    markInterrupted: withStoreErrors(session, () => markInterrupted.run()),
    insertSnapshot: withStoreErrors(session, (snapshot) => insertSnapshot.run(snapshot)),
    insertStep: withStoreErrors(session, ({ run, iteration, snapshot, ledger }) => {
      const row = { run, iteration, snapshot: keys.snapshotId(run, snapshot), ledger: JSON.stringify(ledger) };
      mustChange(insertStep.run(row).changes, `unfinished step ${iteration} of run ${run}`);
    }),
    finishStep: withStoreErrors(session, (run, iteration, metrics, ledger) => {
      for (const [name, value] of Object.entries({ ...metrics })) {
        requireFinite(`${name} of step ${iteration} of run ${run}`, value);
      }
      const row = { run, iteration, metrics: JSON.stringify(metrics), ledger: JSON.stringify(ledger) };
      mustChange(finishStep.run(row).changes, `unfinished step ${iteration} of run ${run}`);
    }),
    insertEpisode: withStoreErrors(session, (episode) => {
      requireReturn(`episode of message ${episode.leaf}`, episode.return);
      const { run, phase, iteration, problem, leaf, rule, evaluatorCalls } = episode;
      return Number(
        insertEpisode.run([run, phase, iteration, keys.problemId(problem), leaf, episode.return, rule, evaluatorCalls])
          .lastInsertRowid,
      );
    }),
    insertBucket: withStoreErrors(
      session,
      ({ run, origin, iteration, problem, role, turn, contextKey, snapshot, message }) => {
        const row = [
          run,
          origin,
          iteration,
          keys.problemId(problem),
          role,
          turn,
          contextKey,
          keys.snapshotId(run, snapshot),
          message,
        ];
        return Number(insertBucket.run(row).lastInsertRowid);
      },
    ),
    nextRequestNumber: withStoreErrors(session, (run) => (countRequests.get(run) ?? 0) + 1),
  };
}

type CreditAppenders = Pick<Appenders, 'insertAlternative' | 'insertReplay' | 'insertCredit' | 'insertVerification'>;

function creditAppenders(session: Session, headlines: HeadlineKeeper): CreditAppenders {
  const { db } = session;
  const insertAlternative = db.prepare<[number, number, number, 0 | 1]>(
    'INSERT INTO alternative (bucket, decision, idx, original) VALUES (?, ?, ?, ?)',
  );
  const insertReplay = db.prepare<[readonly Value[]]>(`
    INSERT INTO replay (bucket, alternative, replay_index, leaf, return, evaluator_calls, token_hash, environment) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertCredit = db.prepare<[readonly Value[]]>(`
    INSERT INTO credit (bucket, decision, estimator, value, low, high, n, evaluator_calls, interval) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertVerification = db.prepare<[Omit<NewVerification, 'difference'>]>(
    'INSERT INTO verification (replay, result, detail, environment) VALUES (@replay, @result, @detail, @environment)',
  );
  const insertDifference = differenceWriter(session);

  return {
    insertAlternative: withStoreErrors(session, (bucket, message, index, original) =>
      insertAlternative.run(bucket, message, index, original ? 1 : 0),
    ),
    insertReplay: withStoreErrors(session, (replay) => {
      requireReturn(`replay ${replay.replayIndex} of message ${replay.alternative}`, replay.return);
      const { bucket, alternative, replayIndex, leaf, evaluatorCalls, tokenHash, environment } = replay;
      headlines.note(bucket);
      return Number(
        insertReplay.run([
          bucket,
          alternative,
          replayIndex,
          leaf,
          replay.return,
          evaluatorCalls,
          tokenHash,
          environment,
        ]).lastInsertRowid,
      );
    }),
    insertCredit: withStoreErrors(
      session,
      (bucket, message, { estimator, value, low, high, n, evaluatorCalls, interval }) => {
        requireFinite(`value of the credit of message ${message}`, value);
        requireFinite(`lower bound of the credit of message ${message}`, low);
        requireFinite(`upper bound of the credit of message ${message}`, high);
        return Number(
          insertCredit.run([bucket, message, estimator, value, low, high, n, evaluatorCalls, interval]).lastInsertRowid,
        );
      },
    ),
    insertVerification: withStoreErrors(session, ({ difference = null, ...verification }) => {
      const id = Number(insertVerification.run(verification).lastInsertRowid);
      if (difference !== null) {
        insertDifference(id, difference);
      }
      return id;
    }),
  };
}

/** Refuses a value that is not a return, so that all readers can rely on its range. */
function requireReturn(of: string, value: number | null): void {
  if (value !== null && !isReturn(value)) {
    throw new C3Error(
      'store',
      `The return of the ${of} is ${value}, and a return is ${RETURN_WORDS}: store null where nothing was measured.`,
    );
  }
}

/** Refuses NaN and infinities. SQLite would store NaN as null, which means "not measured" here. */
function requireFinite(what: string, value: number | null): void {
  if (value !== null && !Number.isFinite(value)) {
    throw new C3Error(
      'store',
      `The ${what} is ${value}, not a number that can be stored: store null where nothing was measured.`,
    );
  }
}

// Bulk appends: within one transaction, the triggers that update lists and full-text indexes, or check
// for replaced rows, are dropped, and the derived data of all new rows is added at the end. The schema
// is the same again before the transaction ends, and the stored data is the same as after single
// appends.

/** Triggers that are dropped during a bulk append. */
const DROPPED_TRIGGERS = [
  'decision_indexed',
  'decision_listed',
  'measurement_listed',
  'episode_listed',
  'instance_indexed',
  ...['text', 'context', 'context_base', 'decision', 'measurement', 'environment_event', 'decision_events'].map(
    (table) => `${table}_no_replace`,
  ),
];

/** The SQL that adds the derived data of all rows after the given ones, as the triggers would. */
const DERIVED_ROWS = `
INSERT INTO message_search (rowid, body)
SELECT id, body FROM text
WHERE id IN (SELECT message FROM decision WHERE id > @decision)
  AND NOT EXISTS (SELECT 1 FROM decision WHERE message = text.id AND decision.id <= @decision)
ORDER BY id;

INSERT INTO question_search (rowid, question) SELECT id, question FROM instance WHERE id > @instance ORDER BY id;

INSERT INTO problem (run, instance, prompt_tokens, reused_tokens, completion_tokens)
SELECT run, instance, sum(prompt_tokens), sum(reused_tokens), sum(length(tokens) / 4)
FROM decision WHERE id > @decision AND phase <> 'replay' GROUP BY run, instance ORDER BY min(id)
ON CONFLICT (run, instance) DO UPDATE SET prompt_tokens = prompt_tokens + excluded.prompt_tokens,
  reused_tokens = reused_tokens + excluded.reused_tokens, completion_tokens = completion_tokens + excluded.completion_tokens;

UPDATE problem SET completion_tokens = problem.completion_tokens + found.tokens,
  seconds = iif(found.seconds IS NULL, problem.seconds, coalesce(problem.seconds, 0) + found.seconds)
FROM (
  SELECT run, instance, sum(coalesce(measurement.completion_tokens, 0)) AS tokens, sum(measurement.seconds) AS seconds
  FROM measurement JOIN decision ON decision.id = measurement.decision
  WHERE measurement.decision > @decision AND phase <> 'replay' GROUP BY run, instance
) AS found WHERE problem.run = found.run AND problem.instance = found.instance;

INSERT INTO problem_round (problem, phase, iteration, episodes, returns, total)
SELECT problem.id, phase, iteration, count(*), count(return), sum(coalesce(return, 0.0))
FROM episode JOIN problem ON problem.run = episode.run AND problem.instance = episode.instance
WHERE episode.id > @episode AND phase <> 'replay' GROUP BY problem.id, phase, iteration
ON CONFLICT (problem, phase, iteration) DO UPDATE SET episodes = episodes + excluded.episodes,
  returns = returns + excluded.returns, total = total + excluded.total;

UPDATE problem SET evaluator_calls = problem.evaluator_calls + found.calls, masked = problem.masked + found.masked,
  returns = problem.returns + found.returns, total = problem.total + found.total
FROM (
  SELECT run, instance, sum(evaluator_calls) AS calls, sum(return IS NULL) AS masked,
    sum(phase = 'train' AND return IS NOT NULL) AS returns, sum(iif(phase = 'train', coalesce(return, 0.0), 0.0)) AS total
  FROM episode WHERE id > @episode AND phase <> 'replay' GROUP BY run, instance
) AS found WHERE problem.run = found.run AND problem.instance = found.instance`;

/** Calls `work` within a transaction while these triggers are dropped, and adds the derived data. */
function appendInBulk<Result>(db: Connection, work: () => Result): Result {
  const newest = (table: string): number =>
    db.prepare<[], number>(`SELECT coalesce(max(id), 0) FROM ${table}`).pluck().get() ?? 0;
  const before = { decision: newest('decision'), instance: newest('instance'), episode: newest('episode') };
  const triggers = db
    .prepare<[string], { name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_schema
        WHERE type = 'trigger' AND name IN (SELECT value FROM json_each(?)) ORDER BY rowid`,
    )
    .all(JSON.stringify(DROPPED_TRIGGERS));
  for (const { name } of triggers) {
    db.exec(`DROP TRIGGER ${name}`);
  }
  const result = work();
  for (const statement of DERIVED_ROWS.split(/;\s*\n\n/u)) {
    db.prepare<[typeof before]>(statement).run(before);
  }
  for (const { sql } of triggers) {
    db.exec(sql);
  }
  return result;
}

// The row numbers of problems, snapshots and environments, cached while a writer is open.

/** Largest number of cached rows of each kind. An import may have any number of problems. */
const MOST_REMEMBERED = 1024;

interface KeyWriter {
  /** @throws C3Error('store') if the problem was not inserted */
  readonly problemId: (uidSha: string) => number;
  /** @throws C3Error('store') if the run has no such snapshot */
  readonly snapshotId: (run: string, weights: string) => number;
  /** Returns the number of an environment, which is stored on first use. */
  readonly environmentId: (environment: NumericEnvironment) => number;
  /**
   * Stores a problem on first use.
   * @throws C3Error('store') if it is stored with another answer or other tests
   */
  readonly storeProblem: (problem: Problem) => void;
  /** Clears the cache, because rows may have been rolled back. */
  readonly forget: () => void;
}

function keyWriter({ db, path }: Session): KeyWriter {
  const findProblem = db.prepare<[string], { id: number; answer: string; tests: string | null }>(
    'SELECT id, answer, tests FROM instance WHERE uid_sha = ?',
  );
  const insertProblem = db.prepare<[Omit<Problem, 'tests'> & { readonly tests: string | null }]>(
    'INSERT INTO instance (uid_sha, uid, question, answer, source, level, tests) VALUES (@uidSha, @uid, @question, @answer, @source, @level, @tests)',
  );
  const findSnapshot = db
    .prepare<[string, string], number>('SELECT id FROM snapshot WHERE weights = ? AND run = ?')
    .pluck();
  const findEnvironment = db
    .prepare<[NumericEnvironment], number>(
      `
    SELECT id FROM environment
    WHERE runtime = @runtime AND provider = @provider AND device = @device AND threads = @threads AND platform = @platform`,
    )
    .pluck();
  const insertEnvironment = db.prepare<[NumericEnvironment]>(
    'INSERT INTO environment (runtime, provider, device, threads, platform) VALUES (@runtime, @provider, @device, @threads, @platform)',
  );
  const problems = new Map<string, number>();
  const snapshots = new Map<string, number>();

  return {
    problemId: (uidSha) =>
      findCachedId(
        problems,
        uidSha,
        () => findProblem.get(uidSha)?.id,
        `The problem ${uidSha} is not in the store ${path}: insert it before what refers to it.`,
      ),
    snapshotId: (run, weights) =>
      findCachedId(
        snapshots,
        `${weights} ${run}`,
        () => findSnapshot.get(weights, run),
        `The run ${run} has no snapshot ${weights} in the store ${path}: insert it before what refers to it.`,
      ),
    environmentId: (environment) =>
      findEnvironment.get(environment) ?? Number(insertEnvironment.run(environment).lastInsertRowid),
    storeProblem: (problem) => {
      const found = findProblem.get(problem.uidSha);
      const tests = formatTests(problem.tests);
      if (found === undefined) {
        insertProblem.run({ ...problem, tests });
      } else if (found.answer !== problem.answer || found.tests !== tests) {
        const changed = found.answer === problem.answer ? 'other tests' : 'another answer';
        throw new C3Error(
          'store',
          `The problem ${problem.uid} (${problem.uidSha}) is in the store ${path} with ${changed}: correct the task file, or keep the changed task in another store (--store).`,
        );
      }
    },
    forget: () => {
      problems.clear();
      snapshots.clear();
    },
  };
}

function findCachedId(
  known: Map<string, number>,
  name: string,
  find: () => number | undefined,
  missing: string,
): number {
  const id = known.get(name) ?? find();
  if (id === undefined) {
    throw new C3Error('store', missing);
  }
  if (known.size >= MOST_REMEMBERED) {
    known.clear();
  }
  known.set(name, id);
  return id;
}
