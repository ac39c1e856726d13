/** Reads messages that the user scored, which measure a model judge. */

import { resolve } from 'node:path';
import { z } from 'zod';
import type { LabeledMessage } from '../../evaluate/modelJudge.ts';
import { readRegular } from '../../files/regularFile.ts';
import { C3Error } from '../../shared/errors.ts';

/** Maximum labels; a judge is asked twice about each before a run. */
export const MAX_LABELS = 500;
const MIN_LABELS = 5;
const MOST_BYTES = 16 * 2 ** 20;

const rowSchema = z.strictObject({
  question: z.string(),
  text: z.string(),
  score: z.number().min(0).max(1),
  answer: z.string().default(''),
});

/** @throws C3Error('input') naming file and line */
export async function readLabels(path: string, folder: string): Promise<readonly LabeledMessage[]> {
  const file = resolve(folder, path);
  const text = (await readRegular(file, MOST_BYTES, 'name an existing file of labels')).toString('utf8');
  const rows = text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [parseLabel(line, file, index + 1)]));
  if (rows.length < MIN_LABELS || rows.length > MAX_LABELS) {
    throw new C3Error(
      'input',
      `${file} has ${rows.length} labeled messages; a judge is measured on ${MIN_LABELS} to ${MAX_LABELS}.`,
    );
  }
  return rows;
}

function parseLabel(line: string, file: string, number: number): LabeledMessage {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    value = null;
  }
  const parsed = rowSchema.safeParse(value);
  if (parsed.success) {
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const where = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`.replace(/^: /u, '');
  throw new C3Error(
    'input',
    `${file}:${number} is not a labeled message (${where}); write {"question": TEXT, "text": TEXT, "score": 0 to 1}.`,
  );
}
