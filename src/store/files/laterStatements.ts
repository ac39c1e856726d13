/**
 * Statements that are prepared when they are first used. A store has about 130 and a connection uses some ten:
 * preparing all of them was half of what opening a store took, and every click on "Replay alternatives" opens it.
 */
import type Database from 'better-sqlite3';

/** Lets a connection prepare a statement when it is first used; what is wrong with it is then said there. */
export function prepareWhenUsed(db: Database.Database): void {
  const prepare = db.prepare.bind(db);
  Object.defineProperty(db, 'prepare', { value: (sql: string) => later(() => prepare(sql)) });
}

/** What the store uses of a statement. */
type Used = Pick<Database.Statement, 'run' | 'get' | 'all' | 'iterate' | 'pluck'>;

function later(prepare: () => Used): Used {
  let prepared: Used | undefined;
  const own = (): Used => (prepared ??= prepare());
  return {
    run: (...values) => own().run(...values),
    get: (...values) => own().get(...values),
    all: (...values) => own().all(...values),
    iterate: (...values) => own().iterate(...values),
    pluck: (on = true) => later(() => own().pluck(on)) as Database.Statement,
  };
}
