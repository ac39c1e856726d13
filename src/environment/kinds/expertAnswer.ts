/**
 * A model as the expert of `expert_edits` (MAGRPO reference section 6): its prompt, and the edits in
 * its answer. It reads the problem and the program, never a test.
 */

import { isRecord } from '../../shared/guard.ts';

/** The edits of each function; `perfect` if nothing is to change. */
export type ExpertEdits = Readonly<Record<'aux' | 'main', string>>;

/** Characters of an answer that are read, from its end. */
const MOST_READ = 4000;
/** Characters of the edits of a function that are shown. */
const MOST_SHOWN = 2000;

/**
 * Returns the prompt of an expert. A pure function.
 * @param program of both functions, or of the main one if a single role writes all
 * @param name of the main function
 */
export function writeExpertPrompt(
  question: string,
  program: string,
  name: string,
  isPair: boolean,
): { readonly system: string; readonly user: string } {
  const keys = isPair ? `"aux" for the helper and "main" for ${name}` : `"main" for ${name}`;
  return {
    system:
      `You review ${isPair ? 'a Python program in two functions' : 'a Python function'}. Answer with one JSON object with the ` +
      `${isPair ? 'keys' : 'key'} ${keys}. A value is a text: "perfect" if nothing is to change, the edits in a few words, or the whole new function.`,
    user: `Problem:\n${question.trim()}\n\nProgram:\n${program.trim()}`,
  };
}

/**
 * Reads the edits in an answer: the last JSON object in it that has a text for each function. A pure
 * function.
 * @returns null if there is none
 */
export function readExpertEdits(answer: string, isPair: boolean): ExpertEdits | null {
  const text = answer.slice(-MOST_READ);
  let found: ExpertEdits | null = null;
  for (let from = text.indexOf('{'); from >= 0;) {
    const end = findObjectEnd(text, from);
    const edits = end === null ? null : parseExpertEdits(text.slice(from, end), isPair);
    found = edits ?? found;
    from = text.indexOf('{', edits === null ? from + 1 : (end ?? from + 1));
  }
  return found;
}

/**
 * Returns the end of the object that begins at `from`, by its braces outside strings, or null if it
 * stays open.
 */
function findObjectEnd(text: string, from: number): number | null {
  let depth = 0;
  let inText = false;
  for (let index = from; index < text.length; index++) {
    const character = text[index];
    if (inText) {
      if (character === '\\') {
        index++;
      } else if (character === '"') {
        inText = false;
      }
    } else if (character === '"') {
      inText = true;
    } else if (character === '{') {
      depth++;
    } else if (character === '}') {
      depth--;
      if (depth === 0) {
        return index + 1;
      }
    }
  }
  return null;
}

function parseExpertEdits(json: string, isPair: boolean): ExpertEdits | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null; // Braces that are no JSON, such as a set in Python.
  }
  const read = (key: string): string | null => {
    const own = isRecord(value) && Object.hasOwn(value, key) ? value[key] : null;
    return typeof own === 'string' && own.trim() !== '' ? own.trim().slice(0, MOST_SHOWN) : null;
  };
  const [aux, main] = [isPair ? read('aux') : '', read('main')];
  return aux === null || main === null ? null : { aux, main };
}
