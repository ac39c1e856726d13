/** The orders of credits (src/shared/credit/order.ts) as SQL; a test compares the two over random rows. */
import { LEAST_HALF_WIDTH } from '../../shared/credit/order.ts';
import { tokenKey } from './headlinePools.ts';

/** `standardized` of the row of `headline`; NULL without bounds. @param row its alias */
const standardizedOf = (row: string): string =>
  `(${row}.value / max((${row}.high - ${row}.low) / 2, ${LEAST_HALF_WIDTH}))`;

/** `clearness` of the row of `headline`; NULL where nothing is to be said. @param row its alias */
export const clearnessOf = (row: string): string =>
  `CASE WHEN ${row}.verdict IN ('helped', 'hurt') THEN 1 + abs(coalesce(${standardizedOf(row)}, 0))
    WHEN ${row}.verdict = 'undecided' THEN -1 / (1 + abs(${standardizedOf(row)})) END`;

/** What `mayBeLowest` says of the row of `headline`. @param row its alias */
export const mayBeLowestOf = (row: string): string => `${row}.verdict IN ('hurt', 'undecided')`;

/** Terms that sort as `lowestFirst` does. @param row the alias of `headline` @param id the message's number */
export const lowestFirstOf = (row: string, id: string): string =>
  `${row}.verdict = 'hurt' DESC, coalesce(${standardizedOf(row)}, 0), ${row}.value, ${id}`;

/** The key of every message with a result in the bucket of the row of `bucket_pool`. */
const MEMBERS = `SELECT ${tokenKey('decision')} FROM replay CROSS JOIN decision ON decision.id = replay.alternative WHERE replay.bucket = bucket_pool.bucket`;

/** How clear a problem's clearest message is where nothing is to be said of it: below all others, which end at -1. */
const NOTHING_SAID = -2;

/**
 * What a problem shows of its clearest headline.
 * @param found rows with run, instance, message, value and rank, one for each problem
 */
export const listClearest = (found: string): string => `
  UPDATE problem SET clear_message = found.message, clear_role = decision.event_type, clear_value = found.value, clearness = coalesce(found.rank, ${NOTHING_SAID})
  FROM (${found}) AS found JOIN decision ON decision.id = found.message WHERE problem.run = found.run AND problem.instance = found.instance`;

/** The headlines that a problem may show, the clearest first. */
export const LISTED = "message IS NOT NULL AND verdict <> 'alone'";
export const CLEAREST_FIRST = 'headline.rank DESC, headline.message';

/**
 * The SQL of the store version that ranks by these orders. Its tables are those of the version before it, which ranked
 * by the bound nearest to 0: what follows from that is derived again, the headlines themselves stay as they are.
 */
export const CREDIT_ORDER = `
UPDATE headline SET rank = ${clearnessOf('headline')};
UPDATE bucket_measure SET clearest = (
  SELECT max(rank) FROM bucket_pool CROSS JOIN headline ON headline.pool = bucket_pool.pool
  WHERE bucket_pool.bucket = bucket_measure.bucket AND headline.token_key IN (${MEMBERS})
) WHERE bucket IN (SELECT bucket FROM bucket_pool);
${listClearest(`SELECT run, instance, message, value, rank FROM (
  SELECT run, instance, message, value, rank, row_number() OVER (PARTITION BY run, instance ORDER BY ${CLEAREST_FIRST}) AS place FROM headline WHERE ${LISTED}
) WHERE place = 1`)};
`;
