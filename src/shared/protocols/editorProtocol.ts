/** What an engine asks of a window: the chat models that VS Code offers there, and its user. */
import { RequestType } from 'vscode-jsonrpc';
import type { LongWait } from '../longWait.ts';
import type { EditorModel } from '../rolePolicies.ts';

/** A chat model by the names that nobody else has. */
export interface EditorModelName {
  readonly vendor: string;
  readonly id: string;
}

export interface EditorOpenParams {
  /** Which model is wanted. */
  readonly model: EditorModel;
  /** The one that answered before and must be it; null where none did. */
  readonly known: EditorModelName | null;
  /** For whom it answers, as the user is asked for consent. */
  readonly role: string;
}

/** A model that may be asked. */
export interface EditorOpened extends EditorModelName {
  readonly kind: 'open';
  /** As VS Code shows it. */
  readonly name: string;
}

export interface EditorQuestion extends EditorModelName {
  readonly role: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly temperature: number;
  readonly topP: number;
  /** Tokens of the answer at most. */
  readonly maxNewTokens: number;
}

export interface EditorAnswer {
  readonly kind: 'answer';
  readonly text: string;
  readonly finish: 'end' | 'length';
  /** Tokens, as the model counts them. */
  readonly prompt: number;
  readonly completion: number;
}

/**
 * Why there is no answer. missing: no such model; consent: the user does not allow it; quota: its quota is used up, or
 * it is blocked; busy: too many requests; long: the context does not fit; failed: the model itself failed.
 */
export type EditorFailureKind = 'missing' | 'consent' | 'quota' | 'busy' | 'long' | 'failed';

export interface EditorFailure {
  readonly kind: EditorFailureKind;
  /** What VS Code or the model says of it; of a missing model, those that there are. One line. */
  readonly words: string;
}

/**
 * Chooses a model and sees that it may be asked, for which VS Code may ask the user. Both answer with a failure as
 * data, and honor cancellation.
 */
export const EditorOpenRequest = new RequestType<EditorOpenParams, EditorOpened | EditorFailure, void>('editor/open');
export const EditorAnswerRequest = new RequestType<EditorQuestion, EditorAnswer | EditorFailure, void>('editor/answer');

/** What the user says to a long wait of a server. */
export interface EditorDecision {
  readonly kind: 'wait' | 'stop';
}

/** Asks the user whether a server is waited for as long as it asks. */
export const EditorWaitRequest = new RequestType<LongWait, EditorDecision | EditorFailure, void>('editor/wait');

/** What a window can be asked. */
export interface EditorModels {
  readonly open: (params: EditorOpenParams, signal: AbortSignal) => Promise<EditorOpened | EditorFailure>;
  readonly answer: (question: EditorQuestion, signal: AbortSignal) => Promise<EditorAnswer | EditorFailure>;
  readonly askWait: (wait: LongWait, signal: AbortSignal) => Promise<EditorDecision | EditorFailure>;
}
