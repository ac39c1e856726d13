/** Labels of findings in the editor. Pure. */

import { FINDING_FILE } from '../../domain/answer.ts';

/** Returns the name of a finding's file without its ending. */
export const formatFindingLabel = (path: string): string =>
  (path.split('/').at(-1) ?? '').slice(0, -FINDING_FILE.length);
