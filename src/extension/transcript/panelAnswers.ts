/** How the host answers what a page of a transcript asks and waits for. */
import type { TRANSCRIPT_REQUESTS } from '../../shared/protocols/transcriptProtocol.ts';
import type { Answers } from '../../shared/protocols/requests.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { markedRows, messageDetail } from './message/messageDetail.ts';
import type { PanelReading } from './reading/panelReading.ts';
import type { ProtocolReader } from './message/protocolReader.ts';
import { chooseReplayModel, type ModelFolders } from './replayModel.ts';
import { remembering } from './message/verificationMarks.ts';
import { whyLost } from './message/whyLost.ts';

/** What answers are read from. */
interface AnswerSources {
  readonly shown: PanelReading;
  /** @throws where the store is gone */
  readonly reader: () => StoreReader;
  /** Null while it is not loaded. */
  readonly protocols: () => ProtocolReader | null;
  readonly modelFolders: ModelFolders;
}

/** Answers each request of a page; null where it is about a layout that the panel no longer has. */
export function panelAnswers({
  shown,
  reader,
  protocols,
  modelFolders,
}: AnswerSources): Answers<typeof TRANSCRIPT_REQUESTS> {
  return {
    rows: ({ revision, offset }) => {
      if (revision !== shown.revision) {
        return null;
      }
      const knowing = remembering(reader());
      const graph = protocols()?.(knowing, shown.target.run) ?? null;
      return markedRows(knowing, shown.reading.target, graph, shown.reading.window(knowing, offset));
    },
    detail: ({ message }) => messageDetail(reader(), shown.target, protocols(), message),
    why: ({ message }) => whyLost(reader(), message),
    search: ({ revision, query }) => (revision === shown.revision ? shown.reading.search(reader(), query) : null),
    chooseModel: async () => (await chooseReplayModel(modelFolders)) ?? null,
  };
}
