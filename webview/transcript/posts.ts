/** What the parts of the transcript panel ask the host for. */
import type { MarkedRow, TranscriptToHost } from '../../src/shared/protocols/transcriptProtocol.ts';
import type { Asking } from './asking.ts';
import type { ComparisonEvents } from './comparisonView.ts';
import type { DetailEvents } from './message/detail.ts';
import type { TreeEvents } from './tree/treeEvents.ts';

type Post = (message: TranscriptToHost) => void;
type AboutMessage = 'verify' | 'exportReport' | 'copyLink' | 'compare' | 'showContext' | 'locate' | 'findLost';

/** Asks for something about a message. */
function about(post: Post, type: AboutMessage): (message: number) => void {
  return (message) => post({ type, message });
}

/** What the tree asks for. @param accept takes rows */
export function treePosts(
  post: Post,
  asking: Asking,
  accept: (revision: number, offset: number, rows: readonly MarkedRow[]) => void,
): Pick<TreeEvents, 'ask' | 'verify' | 'exportReport' | 'copyLink' | 'compare' | 'tokens'> {
  return {
    ask: (revision, offset) => {
      asking.ask('rows', { revision, offset }, (rows) => {
        if (rows !== null) {
          accept(revision, offset, rows);
        }
      });
    },
    verify: about(post, 'verify'),
    exportReport: about(post, 'exportReport'),
    copyLink: about(post, 'copyLink'),
    compare: about(post, 'compare'),
    tokens: about(post, 'showContext'),
  };
}

/** What the pane asks for. @param setModel takes the folder of another model */
export function detailPosts(
  post: Post,
  asking: Asking,
  setModel: (folder: string) => void,
): Pick<
  DetailEvents,
  'replay' | 'cancelReplay' | 'settle' | 'findLost' | 'verify' | 'chooseModel' | 'tokens' | 'open'
> {
  return {
    replay: (message, { result, ...request }) => {
      post(
        result === undefined
          ? { type: 'replay', message, ...request }
          : { type: 'replayResult', message, replays: request.replays, result },
      );
    },
    cancelReplay: () => post({ type: 'cancelReplay' }),
    settle: (message, replays) => post({ type: 'settle', message, replays }),
    findLost: about(post, 'findLost'),
    verify: about(post, 'verify'),
    chooseModel: () => {
      asking.ask('chooseModel', {}, (folder) => {
        if (folder !== null) {
          setModel(folder);
        }
      });
    },
    tokens: about(post, 'showContext'),
    open: about(post, 'locate'),
  };
}

/** What the comparison asks for. */
export function comparisonPosts(post: Post): Pick<ComparisonEvents, 'openDiff' | 'open'> {
  return { openDiff: () => post({ type: 'openDiff' }), open: about(post, 'locate') };
}
