/** Why an operation was refused; each kind maps to an exit code of the command line. */
export type ErrorKind =
  | 'input' // the arguments, a file or a configuration are wrong (exit code 2)
  | 'store' // the store cannot be opened, read or written (exit code 1)
  | 'model' // weights, tokenizer or graph cannot be used (exit code 1)
  | 'budget' // work beyond the evaluator budget was asked for (exit code 1)
  | 'engine'; // the engine process or a worker failed (exit code 1)

/** An error whose message says in one line what went wrong, where, and what to do. */
export class C3Error extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'C3Error';
    this.kind = kind;
  }
}

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
