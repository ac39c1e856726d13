/** The edits that rules propose for a program in two functions, without any knowledge of its tests. */
import type { Examination } from '../../domain/message.ts';

/** What each function should become; `perfect` where nothing is to change. */
export interface Edits {
  readonly aux: string;
  readonly main: string;
}

/** One edit for each function, the first that applies. A pure function. */
export function editsOf({ helper, main, entryPoint, syntax, usage }: Examination): Edits {
  return {
    aux: functionEdit('aux', helper, syntax) ?? 'perfect',
    main: functionEdit(entryPoint, main, syntax) ?? usageEdit(usage) ?? 'perfect',
  };
}

function functionEdit(
  name: string,
  { source, returns }: Examination['main'],
  syntax: Examination['syntax'],
): string | null {
  if (source === null) {
    return `Add the function: def ${name}(...):`;
  }
  if (!returns) {
    return 'Replace the last line by a return of its value.';
  }
  return syntax === null ? null : `Correct the line that cannot be parsed (${syntax.message}).`;
}

function usageEdit(usage: Examination['usage']): string | null {
  if (usage === null || (usage.used && !usage.wrapper)) {
    return null;
  }
  return usage.wrapper && usage.called
    ? 'Do your own part of the work with the value of aux before you return it.'
    : 'Assign the value of aux(...) and use it in what you return.';
}
