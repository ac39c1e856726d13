/** The keys under which objects of any format hold questions, answers and messages. */

/** Keys of the question. */
export const ASKED = ['instruction', 'prompt', 'question', 'query', 'input'] as const;
/** Keys of the answer: one text or a list of them. */
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
/** Keys of messages recorded while the task ran. The task may be under another key. */
export const MEANWHILE: readonly string[] = [
  'chat_messages',
  'message_thread',
  'internal',
  'steps',
  'events',
  'tasks_output',
];
/** Keys of the messages of a conversation. The first key that holds messages is read. */
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
