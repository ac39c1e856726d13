/**
 * Appending very many rows: within one transaction the triggers that keep lists and the full-text indexes up to date,
 * or look whether a row would be replaced, are off, and what follows from the new rows is added at the end, all at
 * once. The schema is the same again before the transaction ends, and what is stored is what single appends store.
 */
import type { Connection } from '../files/sqlite.ts';

/** Triggers that are off meanwhile. */
const OFF = [
  'decision_indexed',
  'decision_listed',
  'measurement_listed',
  'episode_listed',
  'instance_indexed',
  ...['text', 'context', 'context_base', 'decision', 'measurement', 'environment_event', 'decision_events'].map(
    (table) => `${table}_no_replace`,
  ),
];

/** What follows from the messages, problems and episodes behind the newest ones of before; as the triggers have it. */
const FOLLOWS = `
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

/** Works within a transaction while such triggers are off, and adds what follows. */
export function inBulk<Result>(db: Connection, work: () => Result): Result {
  const newest = (table: string): number =>
    db.prepare<[], number>(`SELECT coalesce(max(id), 0) FROM ${table}`).pluck().get() ?? 0;
  const before = { decision: newest('decision'), instance: newest('instance'), episode: newest('episode') };
  const triggers = db
    .prepare<[string], { name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_schema
        WHERE type = 'trigger' AND name IN (SELECT value FROM json_each(?)) ORDER BY rowid`,
    )
    .all(JSON.stringify(OFF));
  for (const { name } of triggers) {
    db.exec(`DROP TRIGGER ${name}`);
  }
  const result = work();
  for (const statement of FOLLOWS.split(/;\s*\n\n/u)) {
    db.prepare<[typeof before]>(statement).run(before);
  }
  for (const { sql } of triggers) {
    db.exec(sql);
  }
  return result;
}
