/** SQL fragments that statements of several folders share. */

/** The row number of the problem whose uidSha is @problem. */
export const PROBLEM_NUMBER = '(SELECT id FROM instance WHERE uid_sha = @problem)';
/** The rows of one tree: one problem in one round of a run. */
export const IN_TREE = `run = @run AND phase = @phase AND iteration = @iteration AND instance = ${PROBLEM_NUMBER}`;

/**
 * Returns the SQL of the temperature of the message `said`: its own, or that of the run if the message
 * was picked greedily or typed, because its alternatives are sampled at that. Null if the run has
 * none.
 */
export const ownTemperatureSql = (said: string): string => `iif(${said}.temperature > 0, ${said}.temperature,
  (SELECT iif(json_valid(config), json_extract(config, '$.config.sampling.temperature'), NULL) FROM run WHERE run.id = ${said}.run))`;
export const OWN_TEMPERATURE = ownTemperatureSql('said');

/** True if the row `bucket` is a request with another continuation distribution than its message. */
export const IS_OTHER = `(origin = 'request' AND EXISTS (
  SELECT 1 FROM decision AS said WHERE said.id = bucket.message AND (said.snapshot <> bucket.snapshot OR EXISTS (
    SELECT 1 FROM decision AS sampled WHERE sampled.bucket = bucket.id AND sampled.temperature <> ${OWN_TEMPERATURE}))))`;

/** The estimator of the shown credit. If a bucket has none, it shows its newest credit. */
export const SHOWN_ESTIMATOR = 'loo';
/** Orders credits so that the shown one comes first. */
export const SHOWN_FIRST = `ORDER BY estimator = '${SHOWN_ESTIMATOR}' DESC, id DESC LIMIT 1`;
