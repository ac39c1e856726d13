/** What the parts of the transcript panel ask the host for. */
import type { TranscriptToHost } from '../../src/shared/protocols/transcriptProtocol.ts';
import type { ComparisonEvents } from './comparisonView.ts';
import type { DetailEvents } from './message/detail.ts';
import type { TreeEvents } from './tree/treeEvents.ts';

type Post = (message: TranscriptToHost) => void;
type AboutMessage = 'verify' | 'exportReport' | 'copyLink' | 'compare' | 'showContext' | 'locate';

/** Asks for something about a message. */
function about(post: Post, type: AboutMessage): (message: number) => void {
  return (message) => {
    post({ type, message });
  };
}

/** What the tree asks for. */
export function treePosts(
  post: Post,
): Pick<TreeEvents, 'ask' | 'verify' | 'exportReport' | 'copyLink' | 'compare' | 'tokens'> {
  return {
    ask: (revision, offset) => {
      post({ type: 'rows', revision, offset });
    },
    verify: about(post, 'verify'),
    exportReport: about(post, 'exportReport'),
    copyLink: about(post, 'copyLink'),
    compare: about(post, 'compare'),
    tokens: about(post, 'showContext'),
  };
}

/** What the pane asks for. */
export function detailPosts(
  post: Post,
): Pick<DetailEvents, 'replay' | 'cancelReplay' | 'settle' | 'verify' | 'chooseModel' | 'tokens' | 'open'> {
  return {
    replay: (message, request) => {
      post({ type: 'replay', message, ...request });
    },
    cancelReplay: () => {
      post({ type: 'cancelReplay' });
    },
    settle: (message, replays) => {
      post({ type: 'settle', message, replays });
    },
    verify: about(post, 'verify'),
    chooseModel: () => {
      post({ type: 'chooseModel' });
    },
    tokens: about(post, 'showContext'),
    open: about(post, 'locate'),
  };
}

/** What the comparison asks for. */
export function comparisonPosts(post: Post): Pick<ComparisonEvents, 'openDiff' | 'open'> {
  return {
    openDiff: () => {
      post({ type: 'openDiff' });
    },
    open: about(post, 'locate'),
  };
}
