/** Words of a command line, and counts of things. */

const WORD = /(?:[^\s"']+|"[^"]*"|'[^']*')+/gu;

/**
 * Splits a typed command into words. Quoted parts keep their spaces and lose their quotes. There are
 * no escapes, so that Windows paths stay as they are, and no shell ever reads the command.
 */
export const splitCommand = (command: string): string[] =>
  [...command.matchAll(WORD)].map(([word]) => word.replaceAll(/"([^"]*)"|'([^']*)'/gu, '$1$2'));

/** Formats a number with the thing that it counts: `1 message`, `2 messages`. */
export const formatCounted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
