/** What programs left in a folder for temporary files. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The one folder of the user's in which their temporary folders lie: it stays when they have gone. */
const PARENT = /^c3-folders-[^/\\]*$/u;

/** Names of files and folders, those of temporary folders from the folder for temporary files. */
export function leftBehind(folder: string): string[] {
  return readdirSync(folder).flatMap((name) =>
    PARENT.test(name) ? readdirSync(join(folder, name)).map((inner) => join(name, inner)) : [name],
  );
}
