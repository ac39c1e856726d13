/** The requests of the transcript panel to its host. */

import type { TRANSCRIPT_REQUESTS } from '../../src/shared/protocols/transcriptProtocol.ts';
import type { RequestSender } from '../common/requests.ts';

export type TranscriptRequestSender = RequestSender<typeof TRANSCRIPT_REQUESTS>;
