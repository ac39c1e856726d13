/** Paths in a configuration, and the message about missing ones. */

export type NamedPath = 'folder' | 'protocol' | 'rows';

/** Returns the message of the Problems panel and of a refused run. @param path absolute */
export function describeAbsentPath(names: NamedPath, path: string): string {
  return `There is no such ${names === 'folder' ? 'folder' : 'file'}: ${path}`;
}
