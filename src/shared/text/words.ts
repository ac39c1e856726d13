/** A command line in words, and counts of things. */

const WORD = /(?:[^\s"']+|"[^"]*"|'[^']*')+/gu;

/**
 * The words of a command as a person types it: parts in quotes keep their spaces and lose their quotes. There are no
 * escapes, so that paths of Windows stay as they are, and no shell ever reads it.
 */
export const words = (command: string): string[] =>
  [...command.matchAll(WORD)].map(([word]) => word.replaceAll(/"([^"]*)"|'([^']*)'/gu, '$1$2'));

/** A number and what it counts: `1 message`, `2 messages`. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
