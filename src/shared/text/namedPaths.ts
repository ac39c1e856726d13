/** What a configuration may name on the disk, and what is said where it is not there. */

export type NamedPath = 'folder' | 'protocol' | 'rows';

/** The Problems panel and a run that is refused say the same. @param path absolute */
export function absentPath(names: NamedPath, path: string): string {
  return `There is no such ${names === 'folder' ? 'folder' : 'file'}: ${path}`;
}
