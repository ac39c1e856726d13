/** Names of the speakers in recordings, and the names that the user gives them instead. */

import { C3Error } from './errors.ts';
import { toOneLine } from './text/oneLine.ts';

/** Most characters of a speaker's name. */
export const MOST_NAME = 60;

/** A new name for a speaker; `old` is the name in reports. */
export type Rename = readonly [old: string, name: string];

/**
 * Parses names as `OLD=NEW`; two speakers with one new name become one.
 * @throws C3Error('input') for any other form, and for two names of one speaker
 */
export function parseSpeakerRenames(texts: readonly string[]): readonly Rename[] {
  const renames = texts.map((text): Rename => {
    const at = text.indexOf('=');
    const [old, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    if (at < 0 || old === '' || name === '' || toOneLine(name, MOST_NAME) !== name) {
      const such = `the name of a speaker, = and another name of at most ${MOST_NAME} characters`;
      throw new C3Error(
        'input',
        `--rename takes ${such}, such as "agent 1=planner"; ${quoteSpeaker(text)} is not in this form.`,
      );
    }
    return [old, name];
  });
  const twice = renames.find(([old], index) => renames.findIndex(([one]) => one === old) < index);
  if (twice !== undefined) {
    throw new C3Error('input', `--rename gives ${quoteSpeaker(twice[0])} two names; leave one of them out.`);
  }
  return renames;
}

const quoteSpeaker = (name: string): string => JSON.stringify(toOneLine(name, MOST_NAME));

/**
 * Returns the fault in new names for missing speakers, or null if there is none.
 * @param there names of the speakers in the recording
 */
export function findRenameFault(renames: readonly Rename[], there: readonly string[]): string | null {
  const missing = renames.map(([old]) => old).filter((old) => !there.includes(old));
  if (missing.length === 0) {
    return null;
  }
  const who = there.length === 0 ? 'nobody spoke' : `those who spoke are ${there.map(quoteSpeaker).join(', ')}`;
  return `No speaker is called ${missing.map(quoteSpeaker).join(' or ')}, to be renamed; ${who}.`;
}
