/** Creates the user's label of a case, before it has an ID. */

import { findCaseMessage } from '../../diagnostics/taxonomy.ts';
import { LABEL_AUTHOR, labelFault, type LabelParams } from '../../domain/taxonomy.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Label, StoreReader } from '../../store/types.ts';

/** @throws C3Error('input') for a label that cannot be stored, or a bucket that does not exist */
export function createLabel(store: StoreReader, { bucket, name, note }: LabelParams): Omit<Label, 'id'> {
  const fault = labelFault(name, note);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
  const message = findCaseMessage(store.bucketView(bucket));
  return { message, bucket, name, note, author: LABEL_AUTHOR, createdAt: new Date().toISOString() };
}
