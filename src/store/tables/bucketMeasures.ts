/**
 * The values that buckets are ranked by: the largest credit, the spread of returns, and the value of
 * an empty message relative to another one. Triggers keep the first two beside the rows that they are
 * derived from, so a page of a ranking comes from an index.
 */

import { SHOWN_FIRST } from '../conditions.ts';

const LARGEST_CREDIT = `
  SELECT max(abs(value)) FROM credit WHERE credit.bucket = NEW.bucket AND id = (
    SELECT id FROM credit AS own WHERE own.bucket = credit.bucket AND own.decision = credit.decision ${SHOWN_FIRST})`;

/** Adds one return to mean and squares (Welford). The variance is exactly 0 for equal returns. */
const ADD_RETURN = `
  UPDATE bucket_measure SET returns = returns + 1, mean = mean + (NEW.return - mean) / (returns + 1),
    squares = squares + (NEW.return - mean) * (NEW.return - (mean + (NEW.return - mean) / (returns + 1)))`;

/**
 * The SQL of the store version that ranks buckets. CROSS JOIN fixes the order from left to right;
 * otherwise, every episode would scan all buckets. The table is derived data and can always be
 * computed again.
 */
export const BUCKET_MEASURES = `
CREATE TABLE bucket_measure (
  bucket INTEGER PRIMARY KEY REFERENCES bucket,
  run TEXT NOT NULL,
  credit REAL,
  returns INTEGER NOT NULL DEFAULT 0,
  mean REAL NOT NULL DEFAULT 0,
  squares REAL NOT NULL DEFAULT 0,
  variance REAL GENERATED ALWAYS AS (CASE WHEN returns > 1 THEN squares / (returns - 1) END) VIRTUAL
) STRICT;

INSERT INTO bucket_measure (bucket, run, credit)
SELECT bucket.id, bucket.run, (
  SELECT max(abs(value)) FROM credit WHERE credit.bucket = bucket.id AND credit.id = (
    SELECT id FROM credit AS own WHERE own.bucket = credit.bucket AND own.decision = credit.decision ${SHOWN_FIRST}))
FROM bucket;

WITH RECURSIVE path (return, decision) AS (
  SELECT return, leaf FROM episode WHERE phase = 'train' AND return IS NOT NULL
  UNION ALL SELECT return, parent FROM path JOIN decision ON decision.id = path.decision WHERE parent IS NOT NULL
), scored (bucket, return) AS (
  SELECT bucket.id, return FROM path JOIN decision ON decision.id = path.decision JOIN bucket ON bucket.id = decision.bucket WHERE origin = 'training'
  UNION ALL SELECT bucket.id, return FROM replay JOIN bucket ON bucket.id = replay.bucket WHERE origin <> 'training' AND return IS NOT NULL
), averaged (bucket, returns, mean) AS (
  SELECT bucket, count(*), avg(return) FROM scored GROUP BY bucket
)
UPDATE bucket_measure SET returns = found.returns, mean = found.mean, squares = found.squares
FROM (
  SELECT bucket, returns, mean, sum((return - mean) * (return - mean)) AS squares FROM averaged JOIN scored USING (bucket) GROUP BY bucket
) AS found WHERE found.bucket = bucket_measure.bucket;

CREATE INDEX bucket_measure_credit ON bucket_measure (run, credit DESC, bucket);
CREATE INDEX bucket_measure_variance ON bucket_measure (run, variance DESC, bucket);
CREATE INDEX decision_typed ON decision (run, bucket) WHERE finish = 'typed' AND bucket IS NOT NULL;

CREATE TRIGGER bucket_measured AFTER INSERT ON bucket BEGIN
  INSERT INTO bucket_measure (bucket, run) VALUES (NEW.id, NEW.run);
END;
CREATE TRIGGER credit_measured AFTER INSERT ON credit
WHEN NOT EXISTS (SELECT 1 FROM credit WHERE bucket = NEW.bucket AND decision = NEW.decision AND id <> NEW.id) BEGIN
  UPDATE bucket_measure SET credit = abs(NEW.value) WHERE bucket = NEW.bucket AND coalesce(credit, -1) < abs(NEW.value);
END;
CREATE TRIGGER credit_measured_again AFTER INSERT ON credit
WHEN EXISTS (SELECT 1 FROM credit WHERE bucket = NEW.bucket AND decision = NEW.decision AND id <> NEW.id) BEGIN
  UPDATE bucket_measure SET credit = (${LARGEST_CREDIT}) WHERE bucket = NEW.bucket;
END;
CREATE TRIGGER episode_measured AFTER INSERT ON episode WHEN NEW.phase = 'train' AND NEW.return IS NOT NULL BEGIN
  ${ADD_RETURN} WHERE bucket IN (
    WITH RECURSIVE path (parent, bucket) AS (
      SELECT parent, bucket FROM decision WHERE id = NEW.leaf
      UNION ALL SELECT decision.parent, decision.bucket FROM path CROSS JOIN decision ON decision.id = path.parent
    )
    SELECT path.bucket FROM path CROSS JOIN bucket ON bucket.id = path.bucket WHERE origin = 'training');
END;
CREATE TRIGGER replay_measured AFTER INSERT ON replay
WHEN NEW.return IS NOT NULL AND (SELECT origin FROM bucket WHERE id = NEW.bucket) <> 'training' BEGIN
  ${ADD_RETURN} WHERE bucket = NEW.bucket;
END;
`;
