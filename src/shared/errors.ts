/** The kind of a refused operation; each kind maps to an exit code of the command line. */
export type ErrorKind =
  | 'input' // the arguments, a file or a configuration are wrong (exit code 2)
  | 'store' // the store cannot be opened, read or written (exit code 1)
  | 'model' // weights, tokenizer or graph cannot be used (exit code 1)
  | 'budget' // work beyond the evaluator budget was asked for (exit code 1)
  | 'engine'; // the engine process or a worker failed (exit code 1)

const ERROR_KINDS: readonly string[] = ['input', 'store', 'model', 'budget', 'engine'] satisfies readonly ErrorKind[];

/**
 * The error that a program decides by if the kind is not enough: a closed set, carried between the
 * processes like the kind. Errors that no program decides by have no code.
 */
export type ErrorCode =
  | 'storeHeld' // another process writes the store: waiting for its end helps
  | 'storeOlder' // an older version made the store: any writer brings it up to date
  | 'notFound' // the store has no row of this id
  | 'evaluatorLost'; // no evaluator is left: what waits for a score can be resumed later

const ERROR_CODES: readonly string[] = [
  'storeHeld',
  'storeOlder',
  'notFound',
  'evaluatorLost',
] satisfies readonly ErrorCode[];

/**
 * The action that the editor offers with an error, as data: a program never parses the sentence. Lines
 * and columns count from 1.
 */
export type ErrorAction =
  | { readonly kind: 'manageTrust' }
  | { readonly kind: 'openSetting'; readonly setting: string }
  | { readonly kind: 'openPlace'; readonly file: string; readonly line: number; readonly column: number };

export interface C3ErrorOptions extends ErrorOptions {
  readonly action?: ErrorAction | undefined;
  readonly code?: ErrorCode | undefined;
}

/** An error whose message says in one line what went wrong, where, and what to do. */
export class C3Error extends Error {
  readonly kind: ErrorKind;
  /** The action that the editor offers, or null if there is none. */
  readonly action: ErrorAction | null;
  /** The code for programs, or null if none decides by it. */
  readonly code: ErrorCode | null;

  constructor(kind: ErrorKind, message: string, { action, code, ...options }: C3ErrorOptions = {}) {
    super(message, options);
    this.name = 'C3Error';
    this.kind = kind;
    this.action = action ?? null;
    this.code = code ?? null;
  }
}

/** The data that accompanies a failure's message, so that the other side can restore the error. */
export interface FailureData {
  readonly kind: ErrorKind;
  readonly action?: ErrorAction;
  readonly code?: ErrorCode;
}

/** Returns the kind, the action and the code of any thrown value. */
export function toFailureData(error: unknown): FailureData {
  if (!(error instanceof C3Error)) {
    return { kind: 'engine' };
  }
  const { kind, action, code } = error;
  return { kind, ...(action !== null && { action }), ...(code !== null && { code }) };
}

/** Restores an error from a message and failure data of another process. Unknown data is left out. */
export function restoreError(message: string, data: unknown, cause?: unknown): C3Error {
  const { kind, action, code } = isObject(data) ? data : {};
  return new C3Error(isErrorKind(kind) ? kind : 'engine', message, {
    cause,
    action: readErrorAction(action),
    code: isErrorCode(code) ? code : undefined,
  });
}

function readErrorAction(value: unknown): ErrorAction | undefined {
  if (!isObject(value)) {
    return undefined;
  }
  const { kind, setting, file, line, column } = value;
  if (kind === 'manageTrust') {
    return { kind };
  }
  if (kind === 'openSetting' && typeof setting === 'string') {
    return { kind, setting };
  }
  const place = kind === 'openPlace' && typeof file === 'string' && isPlace(line) && isPlace(column);
  return place ? { kind, file, line, column } : undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const isErrorKind = (value: unknown): value is ErrorKind => typeof value === 'string' && ERROR_KINDS.includes(value);
const isErrorCode = (value: unknown): value is ErrorCode => typeof value === 'string' && ERROR_CODES.includes(value);
const isPlace = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;

/** Returns true if a thrown value is an error with this code, from any process. */
export const hasCode = (error: unknown, code: ErrorCode): boolean => error instanceof C3Error && error.code === code;

/** Thrown when the user cancelled; never shown as a failure. */
export class CancelledError extends Error {
  constructor(message = 'Cancelled.') {
    super(message);
    this.name = 'CancelledError';
  }
}

/** Returns the message of any thrown value. */
export function toErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Returns the candidate closest to a misspelled name, by Levenshtein distance.
 * @returns undefined if none is within half of the name's length (at least 2 edits)
 */
export function findNearestName(name: string, candidates: readonly string[]): string | undefined {
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
