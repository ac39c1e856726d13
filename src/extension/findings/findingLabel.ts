/** What the editor shows of the file of a finding. Pure. */
import { FINDING_FILE } from '../../domain/answer.ts';

/** The name of a file without what all findings end with. */
export const labelOf = (path: string): string => (path.split('/').at(-1) ?? '').slice(0, -FINDING_FILE.length);
