/** What the parts of the transcript panel ask the host and wait for. */
import type { TRANSCRIPT_REQUESTS } from '../../src/shared/protocols/transcriptProtocol.ts';
import type { RequestSender } from '../common/requests.ts';

export type Asking = RequestSender<typeof TRANSCRIPT_REQUESTS>;
