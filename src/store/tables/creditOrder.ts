/** The orders of credits (src/shared/credit/order.ts) as SQL. A test compares the two over random rows. */

import { LEAST_HALF_WIDTH } from '../../shared/credit/order.ts';
import { tokenKeySql } from './headlinePools.ts';

/**
 * Returns the SQL of `standardizeCredit` of a row of `headline`; NULL without bounds.
 * @param row its alias
 */
const standardizedSql = (row: string): string =>
  `(${row}.value / max((${row}.high - ${row}.low) / 2, ${LEAST_HALF_WIDTH}))`;

/**
 * Returns the SQL of `measureClearness` of a row of `headline`; NULL if there is no verdict.
 * @param row its alias
 */
export const clearnessSql = (row: string): string =>
  `CASE WHEN ${row}.verdict IN ('helped', 'hurt') THEN 1 + abs(coalesce(${standardizedSql(row)}, 0))
    WHEN ${row}.verdict = 'undecided' THEN -1 / (1 + abs(${standardizedSql(row)})) END`;

/**
 * Returns the SQL of `mayBeLowest` of a row of `headline`.
 * @param row its alias
 */
export const mayBeLowestSql = (row: string): string => `${row}.verdict IN ('hurt', 'undecided')`;

/**
 * Returns ORDER BY terms that sort as `compareLowness` does.
 * @param row the alias of `headline`
 * @param id the number of the message
 */
export const lowestFirstSql = (row: string, id: string): string =>
  `${row}.verdict = 'hurt' DESC, coalesce(${standardizedSql(row)}, 0), ${row}.value, ${id}`;

/** The keys of all messages with a result in the bucket of the row of `bucket_pool`. */
const MEMBERS = `SELECT ${tokenKeySql('decision')} FROM replay CROSS JOIN decision ON decision.id = replay.alternative WHERE replay.bucket = bucket_pool.bucket`;

/** Clearness of a problem's message without a verdict, below all others, which are at least -1. */
const NOTHING_SAID = -2;

/**
 * Returns the SQL that copies the clearest headline to its problem.
 * @param found rows with run, instance, message, value and rank, one for each problem
 */
export const listClearestSql = (found: string): string => `
  UPDATE problem SET clear_message = found.message, clear_role = decision.event_type, clear_value = found.value, clearness = coalesce(found.rank, ${NOTHING_SAID})
  FROM (${found}) AS found JOIN decision ON decision.id = found.message WHERE problem.run = found.run AND problem.instance = found.instance`;

/** The headlines that a problem may show, and their order, clearest first. */
export const LISTED = "message IS NOT NULL AND verdict <> 'alone'";
export const CLEAREST_FIRST = 'headline.rank DESC, headline.message';

/**
 * The SQL of the store version that ranks by these orders. Its tables are those of the version before
 * it, which ranked by the bound nearest to 0. It computes the ranks again and keeps the headlines.
 */
export const CREDIT_ORDER = `
UPDATE headline SET rank = ${clearnessSql('headline')};
UPDATE bucket_measure SET clearest = (
  SELECT max(rank) FROM bucket_pool CROSS JOIN headline ON headline.pool = bucket_pool.pool
  WHERE bucket_pool.bucket = bucket_measure.bucket AND headline.token_key IN (${MEMBERS})
) WHERE bucket IN (SELECT bucket FROM bucket_pool);
${listClearestSql(`SELECT run, instance, message, value, rank FROM (
  SELECT run, instance, message, value, rank, row_number() OVER (PARTITION BY run, instance ORDER BY ${CLEAREST_FIRST}) AS place FROM headline WHERE ${LISTED}
) WHERE place = 1`)};
`;
