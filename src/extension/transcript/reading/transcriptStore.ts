/** The store that a transcript is read from. */
import { C3Error } from '../../../shared/errors.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import type { Services } from '../../services.ts';

/** @throws C3Error('store') where it is gone */
export function transcriptStore({ store }: Pick<Services, 'store'>): StoreReader {
  const reader = store.reader();
  if (reader === null) {
    throw new C3Error('store', 'The store of this transcript no longer exists: open a transcript from the Runs view.');
  }
  return reader;
}
