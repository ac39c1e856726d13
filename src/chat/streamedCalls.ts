/** Calls of tools, put together from the pieces in which a stream of chat completions brings them. */
import { isRecord } from '../shared/guard.ts';
import { textAt, type Fields } from './fields.ts';

/** Calls of one answer, and characters of a name; more are refused. */
const MOST_CALLS = 1024;
const LONGEST_NAME = 512;

interface StreamedCall {
  id: string | null;
  name: string;
  arguments: string;
  /** Arguments that came as an object, and so at once; undefined for none. */
  whole: Fields | undefined;
  /** Whether what came last may be the end of an object. */
  closed: boolean;
}

export class StreamedCalls {
  private readonly all: StreamedCall[] = [];
  private readonly byId = new Map<string, StreamedCall>();
  /** The last call that came under each number. */
  private readonly byIndex = new Map<unknown, StreamedCall>();

  /** Takes in the calls of one piece of the answer. @throws RangeError for more calls than one answer has */
  add(pieces: readonly unknown[]): void {
    for (const [at, piece] of pieces.entries()) {
      if (isRecord(piece)) {
        this.addPiece(piece, piece['index'] ?? (pieces.length > 1 ? at : null));
      }
    }
  }

  /** The calls, as a message has them. */
  get made(): readonly Fields[] {
    return this.all.map(({ id, name, arguments: text, whole }) => ({
      ...(id !== null && { id }),
      type: 'function',
      function: { name, arguments: whole ?? text },
    }));
  }

  private addPiece(piece: Fields, index: unknown): void {
    const of = isRecord(piece['function']) ? piece['function'] : piece;
    const [id, name, given] = [textAt(piece, 'id'), textAt(of, 'name'), of['arguments']];
    const call = this.callOf(id, name, given, index);
    call.id ??= id;
    if (id !== null) {
      this.byId.set(id, call);
    }
    if (index !== null) {
      this.byIndex.set(index, call);
    }
    call.name = nameWith(call.name, name ?? '');
    if (isRecord(given)) {
      call.whole = given;
    } else if (typeof given === 'string' && given !== '') {
      call.arguments += given;
      call.closed = given.trimEnd().endsWith('}');
    }
  }

  /** The call that a piece belongs to: a new one where the piece begins it. */
  private callOf(id: string | null, name: string | null, given: unknown, index: unknown): StreamedCall {
    const numbered = index === null ? this.all.at(-1) : this.byIndex.get(index);
    // Some servers give all calls the number 0, and others one id.
    const named = id === null || Number(index) > 0 ? undefined : this.byId.get(id);
    const before = named ?? numbered;
    if (before !== undefined && !begins(before, id, name, given)) {
      return before;
    }
    if (this.all.length >= MOST_CALLS) {
      throw new RangeError(`an answer calls more than ${MOST_CALLS} tools`);
    }
    const call: StreamedCall = { id: null, name: '', arguments: '', whole: undefined, closed: false };
    this.all.push(call);
    return call;
  }
}

/** Whether a piece begins another call than the one that its number would continue: some servers number all with 0. */
function begins(before: StreamedCall, id: string | null, name: string | null, given: unknown): boolean {
  if (id !== null && before.id !== null && id !== before.id) {
    // Some servers give each piece an id of its own: the first piece of a call names the tool.
    return name !== null;
  }
  const hasArguments = before.arguments !== '' || before.whole !== undefined;
  if (name === null || before.name === '' || !hasArguments) {
    return false;
  }
  const isWhole = before.whole !== undefined || before.closed;
  return name !== before.name || isRecord(given) || (isWhole && typeof given === 'string' && /^\s*\{/u.test(given));
}

/** A name that comes once, again in each piece, longer in each, or in pieces. */
function nameWith(before: string, name: string): string {
  if (name === '' || before.startsWith(name)) {
    return before === '' ? name.slice(0, LONGEST_NAME) : before;
  }
  return (name.startsWith(before) ? name : before + name).slice(0, LONGEST_NAME);
}
