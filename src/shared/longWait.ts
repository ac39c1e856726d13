/** Servers that ask for a longer wait than the limit for waits without confirmation. */

export interface LongWait {
  /** The server's name in its address. */
  readonly server: string;
  readonly milliseconds: number;
}

/** Asks the user for a long wait; resolves to false without consent. @throws CancelledError */
export type AskWait = (wait: LongWait, signal: AbortSignal) => Promise<boolean>;

/** The environment variable with the longest wait without confirmation, in seconds. */
export const LONGEST_WAIT = 'C3_LONGEST_WAIT';

/** Formats whole seconds with thousands separators. */
export const formatWholeSeconds = (milliseconds: number): string =>
  Math.round(milliseconds / 1000).toLocaleString('en');

/** Returns the question to the user. */
export const writeWaitQuestion = ({ server, milliseconds }: LongWait): string =>
  `${server} asks to wait ${formatWholeSeconds(milliseconds)} s before it is asked again. Wait?`;
