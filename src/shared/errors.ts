/** Why an operation was refused; each kind maps to an exit code of the command line. */
export type ErrorKind =
  | 'input' // the arguments, a file or a configuration are wrong (exit code 2)
  | 'store' // the store cannot be opened, read or written (exit code 1)
  | 'model' // weights, tokenizer or graph cannot be used (exit code 1)
  | 'budget' // work beyond the evaluator budget was asked for (exit code 1)
  | 'engine'; // the engine process or a worker failed (exit code 1)

const ERROR_KINDS: readonly string[] = ['input', 'store', 'model', 'budget', 'engine'] satisfies readonly ErrorKind[];

/** What the editor offers beside an error, as data: a program never reads the sentence. Lines and columns count from 1. */
export type ErrorAction =
  | { readonly kind: 'openSetting'; readonly setting: string }
  | { readonly kind: 'openPlace'; readonly file: string; readonly line: number; readonly column: number };

export interface C3ErrorOptions extends ErrorOptions {
  readonly action?: ErrorAction | undefined;
}

/** An error whose message says in one line what went wrong, where, and what to do. */
export class C3Error extends Error {
  readonly kind: ErrorKind;
  /** What can be done about it with one click; null where nothing can. */
  readonly action: ErrorAction | null;

  constructor(kind: ErrorKind, message: string, { action, ...options }: C3ErrorOptions = {}) {
    super(message, options);
    this.name = 'C3Error';
    this.kind = kind;
    this.action = action ?? null;
  }
}

/** What is sent beside a failure's message, so that the other side can make the same error of it. */
export interface FailureData {
  readonly kind: ErrorKind;
  readonly action?: ErrorAction;
}

/** The kind and the action of anything that was thrown. */
export function failureData(error: unknown): FailureData {
  if (!(error instanceof C3Error)) return { kind: 'engine' };
  return error.action === null ? { kind: error.kind } : { kind: error.kind, action: error.action };
}

/** The error of a message with its failure data, which come from another process: what is unknown in them is left out. */
export function errorOfFailure(message: string, data: unknown, cause?: unknown): C3Error {
  const { kind, action } = isObject(data) ? data : {};
  return new C3Error(isErrorKind(kind) ? kind : 'engine', message, { cause, action: actionOf(action) });
}

function actionOf(value: unknown): ErrorAction | undefined {
  if (!isObject(value)) return undefined;
  const { kind, setting, file, line, column } = value;
  if (kind === 'openSetting' && typeof setting === 'string') return { kind, setting };
  const place = kind === 'openPlace' && typeof file === 'string' && isPlace(line) && isPlace(column);
  return place ? { kind, file, line, column } : undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
const isErrorKind = (value: unknown): value is ErrorKind => typeof value === 'string' && ERROR_KINDS.includes(value);
const isPlace = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;

/** Thrown when the user cancelled; never shown as a failure. */
export class CancelledError extends Error {
  constructor(message = 'Cancelled.') {
    super(message);
    this.name = 'CancelledError';
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The candidate closest to a misspelt name, by Levenshtein distance.
 * @returns the nearest candidate, or undefined when none is within half of the name's length (at least 2 edits)
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 2)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
