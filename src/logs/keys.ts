/** The keys under which objects hold what was asked and said, whatever wrote them. */

/** Of what was asked, as a text. */
export const ASKED = ['instruction', 'prompt', 'question', 'query', 'input'] as const;
/** Of what was answered, as a text or as one of several. */
export const ANSWERED = [
  'completion',
  'response',
  'responses',
  'output',
  'outputs',
  'generated_text',
  'prediction',
  'chosen',
  'sampled',
] as const;
/** Of what was said meanwhile: what was asked may stand beside it. */
export const MEANWHILE: readonly string[] = [
  'chat_messages',
  'message_thread',
  'internal',
  'steps',
  'events',
  'tasks_output',
];
/** Of the messages of a conversation, of which the first is read that has any. */
export const MESSAGES = [
  'messages',
  'conversations',
  'conversation',
  'chat_history',
  'history',
  'trajectory',
  'traj',
  'turns',
  'dialogue',
  'dialog',
  'contents',
  'chat',
  'chosen',
  'rejected',
  'input',
  'prompt',
  ...MEANWHILE,
];
