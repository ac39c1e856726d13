/** What a page asks of the store alone: the answer to each question. */
import type { TranscriptFromHost, TranscriptToHost } from '../../shared/protocols/transcriptProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { markedRows, messageDetail } from './messageDetail.ts';
import type { PanelReading } from './panelReading.ts';
import type { ProtocolReader } from './protocolReader.ts';
import { remembering } from './verificationMarks.ts';
import { whyLost } from './whyLost.ts';

type Question = Extract<TranscriptToHost, { type: 'rows' | 'detail' | 'why' | 'search' | 'locateRow' }>;

/**
 * The answer to a question of a page; null where it is about a layout that the panel no longer has.
 * @param protocols null while it is not loaded
 */
export function answerTo(
  question: Question,
  shown: PanelReading,
  reader: StoreReader,
  protocols: ProtocolReader | null,
): TranscriptFromHost | null {
  if ('revision' in question && question.revision !== shown.revision) {
    return null;
  }
  switch (question.type) {
    case 'rows': {
      const { revision, offset } = question;
      const knowing = remembering(reader);
      const graph = protocols?.(reader, shown.target.run) ?? null;
      const rows = markedRows(knowing, graph, shown.reading.window(knowing, offset));
      return { type: 'rows', revision, offset, rows };
    }
    case 'detail': {
      const { id, message } = question;
      return { type: 'detail', id, detail: messageDetail(reader, shown.target, protocols, message) };
    }
    case 'why':
      return { type: 'why', id: question.id, why: whyLost(reader, question.message) };
    case 'search':
      return { type: 'found', revision: question.revision, hits: shown.reading.search(reader, question.query) };
    case 'locateRow': {
      const place = shown.reading.placeAt(question.index);
      return place === null ? null : { type: 'reveal', place };
    }
  }
}
