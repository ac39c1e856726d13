/** Names of those who spoke in what was recorded, and other ones that the user gives them. */
import { C3Error } from './errors.ts';
import { oneLine } from './text/oneLine.ts';

/** Characters of a speaker's name. */
export const MOST_NAME = 60;

/** Another name for a speaker, who is called by the first as reports say it. */
export type Rename = readonly [old: string, name: string];

/**
 * Names as `OLD=NEW`; two speakers with one new name are one.
 * @throws C3Error('input') for what has no such form, and for two names of one speaker
 */
export function renamesOf(texts: readonly string[]): readonly Rename[] {
  const renames = texts.map((text): Rename => {
    const at = text.indexOf('=');
    const [old, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    if (at < 0 || old === '' || name === '' || oneLine(name, MOST_NAME) !== name) {
      const such = `the name of a speaker, = and another name of at most ${MOST_NAME} characters`;
      throw new C3Error('input', `--rename takes ${such}, such as "agent 1=planner"; ${shown(text)} is none.`);
    }
    return [old, name];
  });
  const twice = renames.find(([old], index) => renames.findIndex(([one]) => one === old) < index);
  if (twice !== undefined) {
    throw new C3Error('input', `--rename gives ${shown(twice[0])} two names; leave one of them out.`);
  }
  return renames;
}

const shown = (name: string): string => JSON.stringify(oneLine(name, MOST_NAME));

/**
 * What is wrong with names for speakers who are not there; null for nothing.
 * @param there who is, as they were called
 */
export function renameFault(renames: readonly Rename[], there: readonly string[]): string | null {
  const missing = renames.map(([old]) => old).filter((old) => !there.includes(old));
  if (missing.length === 0) {
    return null;
  }
  const who = there.length === 0 ? 'nobody spoke' : `those who spoke are ${there.map(shown).join(', ')}`;
  return `No speaker is called ${missing.map(shown).join(' or ')}, to be renamed; ${who}.`;
}
