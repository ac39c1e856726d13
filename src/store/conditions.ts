/** Pieces of SQL that statements of several folders share. */

/** The number of the problem whose uidSha is @problem. */
export const PROBLEM_NUMBER = '(SELECT id FROM instance WHERE uid_sha = @problem)';
/** The rows of one tree: of one problem in one round of a run. */
export const IN_TREE = `run = @run AND phase = @phase AND iteration = @iteration AND instance = ${PROBLEM_NUMBER}`;

/**
 * The temperature of the message `said`: its own; of one that was picked greedily, or typed so, the run's, at which its
 * alternatives are sampled. Null where the run has none.
 */
export const ownTemperature = (said: string): string => `iif(${said}.temperature > 0, ${said}.temperature,
  (SELECT iif(json_valid(config), json_extract(config, '$.config.sampling.temperature'), NULL) FROM run WHERE run.id = ${said}.run))`;
export const OWN_TEMPERATURE = ownTemperature('said');

/** Whether the row `bucket` is a request of another continuation distribution than its message's own. */
export const IS_OTHER = `(origin = 'request' AND EXISTS (
  SELECT 1 FROM decision AS said WHERE said.id = bucket.message AND (said.snapshot <> bucket.snapshot OR EXISTS (
    SELECT 1 FROM decision AS sampled WHERE sampled.bucket = bucket.id AND sampled.temperature <> ${OWN_TEMPERATURE}))))`;

/**
 * The estimator whose credit a bucket shows where it has one; else, in runs of other methods, the newest that there is.
 */
export const SHOWN_ESTIMATOR = 'loo';
/** Orders credits so that the one that a bucket shows comes first. */
export const SHOWN_FIRST = `ORDER BY estimator = '${SHOWN_ESTIMATOR}' DESC, id DESC LIMIT 1`;
