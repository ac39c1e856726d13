/** Runs as comma-separated values: what came out of each, what it cost, and what it was set to. */
import { settingKeys, type RunTableRow } from '../../shared/protocols/runsTable.ts';
import { csvOf, type CsvValue } from '../../shared/text/csv.ts';

const OUTCOMES = ['accuracyBefore', 'accuracyAfter', 'passAt1Before', 'passAt1After'] as const;
const BEFORE_OUTCOMES = ['id', 'title', 'status', 'method', 'seed', 'steps', 'plannedSteps', 'createdAt'] as const;
const COSTS = ['evaluatorCalls', 'tokens', 'seconds'] as const;

/** One line for each run, in the order given; what was not measured, or is not set, is an empty cell. */
export function runsCsv(rows: readonly RunTableRow[]): string {
  const { all } = settingKeys(rows);
  const header = [
    ...BEFORE_OUTCOMES,
    'tags',
    'note',
    ...OUTCOMES.flatMap((name) => [name, `${name}Low`, `${name}High`, `${name}N`]),
    ...COSTS,
    ...all,
  ];
  return csvOf(
    header,
    rows.map((row) => [
      ...BEFORE_OUTCOMES.map((name) => row[name]),
      row.tags.join(', '),
      row.note,
      ...OUTCOMES.flatMap((name): CsvValue[] => {
        const { value = null, low = null, high = null, n = null } = row[name] ?? {};
        return [value, low, high, n];
      }),
      ...COSTS.map((name) => row[name]),
      ...all.map((key) => settingOf(row, key)),
    ]),
  );
}

/** A setting as it is written, without the quotes of its JSON. */
function settingOf({ settings }: RunTableRow, key: string): string | null {
  const stored = Object.hasOwn(settings, key) ? settings[key] : undefined;
  return stored === undefined ? null : stored.replace(/^"(.*)"$/u, '$1');
}
