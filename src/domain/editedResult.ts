/** A message whose following result of a tool was edited: the same text, but another alternative. */

/** What the stream of such a message begins with; a hash of the edited result follows. */
export const EDITED = 'edited:';
