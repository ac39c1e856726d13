/** Servers that ask to be left alone for longer than is waited without asking. */

export interface LongWait {
  /** The server, as its address names it. */
  readonly server: string;
  readonly milliseconds: number;
}

/** Asks somebody whether so long is waited; false where nobody says so. @throws CancelledError */
export type AskWait = (wait: LongWait, signal: AbortSignal) => Promise<boolean>;

/** The variable of the environment with the seconds that are waited without asking. */
export const LONGEST_WAIT = 'C3_LONGEST_WAIT';

/** Whole seconds with their thousands marked. */
export const secondsWords = (milliseconds: number): string => Math.round(milliseconds / 1000).toLocaleString('en');

/** What somebody is asked. */
export const waitQuestion = ({ server, milliseconds }: LongWait): string =>
  `${server} asks to wait ${secondsWords(milliseconds)} s before it is asked again. Wait?`;
