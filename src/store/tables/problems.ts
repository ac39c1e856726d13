/**
 * One row for each problem of a run, which triggers keep beside the rows that it is derived from, so
 * that sorting and filtering a list of 100,000 problems never reads messages. Requested replays are
 * not part of the run and are not counted.
 */

/**
 * Returns the SQL of the clearness of a credit: the bound nearest to 0 if the interval excludes 0;
 * otherwise, below 0, the distance of the interval from excluding it. Without bounds it is -2,
 * lower than for any credit of returns in [0, 1].
 * @param row the row with value, low and high
 */
const creditClearnessSql = (row: string): string =>
  `CASE WHEN ${row}.low > 0 THEN ${row}.low WHEN ${row}.high < 0 THEN -${row}.high ELSE coalesce(-min(abs(${row}.low), abs(${row}.high)), -2) END`;

const COMPUTED = 'prompt_tokens - reused_tokens + length(tokens) / 4';

/** Adds the share of a step's seconds to its problems, by the tokens computed for each. */
const shareSecondsSql = (run: string, iteration: string, metrics: string): string => `
  UPDATE problem SET seconds = coalesce(seconds, 0) + share.part * (coalesce(json_extract(${metrics}, '$.generateSeconds'), 0) + coalesce(json_extract(${metrics}, '$.trainSeconds'), 0))
  FROM (
    SELECT instance, 1.0 * sum(${COMPUTED}) / sum(sum(${COMPUTED})) OVER () AS part
    FROM decision WHERE run = ${run} AND phase = 'train' AND iteration = ${iteration} GROUP BY instance
  ) AS share WHERE problem.run = ${run} AND problem.instance = share.instance`;

/**
 * The SQL of the store version that lists problems. The tables are derived data and can always be
 * computed again.
 */
export const PROBLEMS = `
CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  instance INTEGER NOT NULL REFERENCES instance,
  returns INTEGER NOT NULL DEFAULT 0,
  total REAL NOT NULL DEFAULT 0,
  masked INTEGER NOT NULL DEFAULT 0,
  evaluator_calls INTEGER NOT NULL DEFAULT 0,
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  reused_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0,
  seconds REAL,
  clear_message INTEGER REFERENCES decision,
  clear_role TEXT,
  clear_value REAL,
  clearness REAL,
  UNIQUE (run, instance)
) STRICT;

CREATE TABLE problem_round (
  problem INTEGER NOT NULL REFERENCES problem,
  phase TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  episodes INTEGER NOT NULL,
  returns INTEGER NOT NULL,
  total REAL NOT NULL,
  PRIMARY KEY (problem, phase, iteration)
) STRICT, WITHOUT ROWID;

INSERT INTO problem (run, instance, prompt_tokens, reused_tokens, completion_tokens)
SELECT run, instance, sum(prompt_tokens), sum(reused_tokens), sum(length(tokens) / 4) FROM decision WHERE phase <> 'replay' GROUP BY run, instance ORDER BY min(id);

INSERT INTO problem_round (problem, phase, iteration, episodes, returns, total)
SELECT problem.id, phase, iteration, count(*), count(return), coalesce(sum(return), 0)
FROM episode JOIN problem ON problem.run = episode.run AND problem.instance = episode.instance WHERE phase <> 'replay' GROUP BY problem.id, phase, iteration;

UPDATE problem SET returns = found.returns, total = found.total, masked = found.masked, evaluator_calls = found.calls
FROM (
  SELECT run, instance, sum(phase = 'train' AND return IS NOT NULL) AS returns, sum(iif(phase = 'train', coalesce(return, 0.0), 0.0)) AS total,
    sum(return IS NULL) AS masked, sum(evaluator_calls) AS calls
  FROM episode WHERE phase <> 'replay' GROUP BY run, instance
) AS found WHERE found.run = problem.run AND found.instance = problem.instance;

UPDATE problem SET seconds = found.seconds
FROM (
  SELECT step.run AS run, share.instance AS instance,
    sum(share.part * (coalesce(json_extract(metrics, '$.generateSeconds'), 0) + coalesce(json_extract(metrics, '$.trainSeconds'), 0))) AS seconds
  FROM (
    SELECT run, iteration, instance, 1.0 * sum(${COMPUTED}) / sum(sum(${COMPUTED})) OVER (PARTITION BY run, iteration) AS part
    FROM decision WHERE phase = 'train' GROUP BY run, iteration, instance
  ) AS share CROSS JOIN step ON step.run = share.run AND step.iteration = share.iteration
  WHERE metrics IS NOT NULL GROUP BY step.run, share.instance
) AS found WHERE found.run = problem.run AND found.instance = problem.instance;

UPDATE problem SET clear_message = found.decision, clear_role = found.role, clear_value = found.value, clearness = found.clearness
FROM (
  SELECT run, instance, decision, event_type AS role, value, clearness, row_number() OVER (PARTITION BY run, instance ORDER BY clearness DESC, id) AS place
  FROM (SELECT bucket.run, bucket.instance, credit.decision, event_type, value, credit.id, ${creditClearnessSql('credit')} AS clearness FROM credit JOIN bucket ON bucket.id = credit.bucket)
) AS found WHERE place = 1 AND found.run = problem.run AND found.instance = problem.instance;

CREATE TRIGGER decision_listed AFTER INSERT ON decision WHEN NEW.phase <> 'replay' BEGIN
  INSERT INTO problem (run, instance, prompt_tokens, reused_tokens, completion_tokens)
  VALUES (NEW.run, NEW.instance, NEW.prompt_tokens, NEW.reused_tokens, length(NEW.tokens) / 4)
  ON CONFLICT (run, instance) DO UPDATE SET prompt_tokens = prompt_tokens + excluded.prompt_tokens, reused_tokens = reused_tokens + excluded.reused_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens;
END;
CREATE TRIGGER episode_listed AFTER INSERT ON episode WHEN NEW.phase <> 'replay' BEGIN
  INSERT INTO problem_round (problem, phase, iteration, episodes, returns, total)
  SELECT id, NEW.phase, NEW.iteration, 1, NEW.return IS NOT NULL, coalesce(NEW.return, 0.0) FROM problem WHERE run = NEW.run AND instance = NEW.instance
  ON CONFLICT (problem, phase, iteration) DO UPDATE SET episodes = episodes + 1, returns = returns + excluded.returns, total = total + excluded.total;
  UPDATE problem SET evaluator_calls = evaluator_calls + NEW.evaluator_calls, masked = masked + (NEW.return IS NULL),
    returns = returns + (NEW.phase = 'train' AND NEW.return IS NOT NULL), total = total + iif(NEW.phase = 'train', coalesce(NEW.return, 0.0), 0.0)
  WHERE run = NEW.run AND instance = NEW.instance;
END;
CREATE TRIGGER step_listed AFTER UPDATE OF metrics ON step WHEN NEW.metrics IS NOT NULL AND OLD.metrics IS NULL BEGIN
  ${shareSecondsSql('NEW.run', 'NEW.iteration', 'NEW.metrics')};
END;
CREATE TRIGGER credit_listed AFTER INSERT ON credit BEGIN
  UPDATE problem SET clear_message = NEW.decision, clear_role = bucket.event_type, clear_value = NEW.value, clearness = ${creditClearnessSql('NEW')}
  FROM bucket WHERE bucket.id = NEW.bucket AND problem.run = bucket.run AND problem.instance = bucket.instance
    AND (clearness IS NULL OR clearness < ${creditClearnessSql('NEW')});
END;
`;
