/** Reads entries of single programs that have keys of their own into the keys of chat messages. */

import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import { asText, fieldsAt, listAtKey, textAt, valueAt, type Fields } from './fields.ts';

/** Returns the messages of an entry of one of these programs, or null for any other entry. */
export function readProgramEntry(entry: Fields): readonly Fields[] | null {
  if ('role' in entry) {
    return null;
  }
  for (const read of PROGRAMS) {
    const messages = read(entry);
    if (messages !== null) {
      return messages;
    }
  }
  return null;
}

/** Reads Letta, which names message types and keeps pieces of an answer under one id. */
function letta(entry: Fields): readonly Fields[] | null {
  const { id, name, message_type: type, content } = entry;
  const own = { id, name };
  switch (type) {
    case 'system_message':
      return [{ ...own, role: 'system', content }];
    case 'user_message':
      return [{ ...own, role: 'user', content }];
    case 'assistant_message':
      return [{ ...own, role: 'assistant', content }];
    case 'reasoning_message':
    case 'hidden_reasoning_message':
      return [{ ...own, role: 'assistant', reasoning: valueAt(entry, 'reasoning', 'hidden_reasoning') ?? '' }];
    case 'tool_call_message':
    case 'approval_request_message': {
      const calls = listAtKey(entry, 'tool_calls');
      return [{ ...own, role: 'assistant', tool_calls: calls.length > 0 ? calls : [entry['tool_call']] }];
    }
    case 'tool_return_message':
      return lettaReturns(entry, listAtKey(entry, 'tool_returns'));
    case 'approval_response_message': {
      const approvals = listAtKey(entry, 'approvals').filter(isRecord);
      const reasons = new Set([entry, ...approvals].map((one) => textAt(one, 'reason')));
      const returned = approvals.filter((one) => 'tool_return' in one);
      return [
        ...(returned.length > 0 ? lettaReturns(entry, returned) : []),
        ...[...reasons].flatMap((content) => (content === null ? [] : [{ role: 'user', content }])),
      ];
    }
    case 'summary_message':
      return [{ role: 'user', content: entry['summary'] }];
    default:
      return null;
  }
}

/** Returns tool results: the message itself, or those in a list, each with its printed output. */
const lettaReturns = (entry: Fields, returns: readonly unknown[]): readonly Fields[] =>
  (returns.length > 0 ? returns.filter(isRecord) : [entry]).map((one) => ({
    role: 'tool',
    name: entry['name'],
    tool_call_id: one['tool_call_id'],
    content: [one['tool_return'], one['stdout'], one['stderr']],
  }));

/** Reads a memory step of smolagents: a task, a plan, or an action. A step may hold its whole input. */
function smolagents(entry: Fields): readonly Fields[] | null {
  const { task, system_prompt: system, plan, model_input_messages: asked } = entry;
  const keys = Object.keys(entry);
  if (typeof task === 'string' && keys.every((key) => key === 'task' || key === 'task_images')) {
    return [{ role: 'user', content: task }];
  }
  if (typeof system === 'string' && keys.length === 1) {
    return [{ role: 'system', content: system }];
  }
  const timing = fieldsAt(entry, 'timing');
  const own = {
    role: 'assistant',
    model_input_messages: asked,
    usage: entry['token_usage'],
    start_time: timing['start_time'],
    end_time: timing['end_time'],
  };
  if (typeof plan === 'string' && 'model_output_message' in entry) {
    return [{ ...own, content: plan }];
  }
  return 'step_number' in entry && 'model_output' in entry ? actionStep(entry, own) : null;
}

function actionStep(entry: Fields, own: Fields): readonly Fields[] {
  const { model_output: output, observations, error } = entry;
  const calls = listAtKey(entry, 'tool_calls').filter(isRecord);
  const said = asText(output);
  const [only] = calls.length === 1 ? calls : [];
  // For an agent that writes code, the library makes one call from the code in the text.
  const code = textAt(fieldsAt(only, 'function'), 'arguments')?.trim();
  const isSaid = code !== undefined && contains(said, code);
  const message = { ...own, content: output ?? '', tool_calls: isSaid ? [] : calls };
  const known = [said, asText(observations), ...calls.map(asText)].join('\n');
  const final = asText(entry['action_output']);
  const gave = [observations, contains(known, final) ? null : final];
  if (gave.every((one) => one === null || one === undefined) && (error === null || error === undefined)) {
    return [message];
  }
  const name = textAt(fieldsAt(only, 'function'), 'name');
  return [message, { role: 'tool', name, tool_call_id: only?.['id'], content: gave, error }];
}

/** Reads a record of the memory of CAMEL. */
function camel(entry: Fields): readonly Fields[] | null {
  const { role_at_backend: role, message } = entry;
  if (typeof role !== 'string' || !isRecord(message)) {
    return null;
  }
  const { content, func_name: name, args, result, tool_call_id: id } = message;
  if (typeof name !== 'string') {
    return [{ role, name: role === 'assistant' ? message['role_name'] : undefined, content }];
  }
  return result === null || result === undefined
    ? [{ role: 'assistant', name: message['role_name'], content, tool_calls: [{ id, name, arguments: args }] }]
    : [{ role: 'tool', tool_results: [{ id, name, result }] }];
}

/** Keys of a line of CrewAI's log of tasks. */
const CREW_LINE: ReadonlySet<string> = new Set(['timestamp', 'task_name', 'task', 'agent', 'status', 'output']);
const isCrewLine = (entry: Fields): boolean =>
  ['task', 'agent', 'status'].every((key) => typeof entry[key] === 'string') &&
  Object.keys(entry).every((key) => CREW_LINE.has(key));

/** Adds a missing beginning to each task of CrewAI's log that has only an end. */
export function addTaskBeginnings(entries: readonly unknown[]): readonly unknown[] {
  if (!entries.some((entry) => isRecord(entry) && isCrewLine(entry))) {
    return entries;
  }
  const begun = new Set<unknown>();
  return entries.flatMap((entry) => {
    if (!isRecord(entry) || !isCrewLine(entry)) {
      return [entry];
    }
    const { output, ...start } = entry;
    const isNew = typeof output === 'string' && !begun.has(entry['task']);
    begun.add(entry['task']);
    return isNew ? [start, entry] : [entry];
  });
}

/** Keys of messages that no output of a task has. */
const OF_MESSAGES = ['from', 'type', 'sender', 'content', 'value'] as const;

/** Reads a task of CrewAI: its beginning or end in the log, or its stored output. */
function crewAi(entry: Fields): readonly Fields[] | null {
  const { task, description, raw, output, agent: name } = entry;
  if (typeof name !== 'string' || OF_MESSAGES.some((key) => key in entry)) {
    return null;
  }
  if (isCrewLine(entry)) {
    return typeof output === 'string'
      ? [{ role: 'assistant', name, content: output }]
      : [{ role: 'user', content: task }];
  }
  if (typeof description !== 'string' || typeof raw !== 'string') {
    return null;
  }
  const messages = listAtKey(entry, 'messages');
  const last = messages.at(-1);
  const asked = isRecord(last) && last['role'] === 'assistant' ? messages.slice(0, -1) : messages;
  return [
    { role: 'user', content: description },
    { role: 'assistant', name, content: raw, ...(asked.length > 0 && { model_input_messages: asked }) },
  ];
}

/** Reads an event of the OpenHands SDK, version 1 or later. */
function openHands(entry: Fields): readonly Fields[] | null {
  const { kind, tool_name: name, tool_call_id: id, llm_response_id: response } = entry;
  switch (kind) {
    case 'SystemPromptEvent':
      return [{ role: 'system', content: entry['system_prompt'] }];
    case 'MessageEvent':
      return isRecord(entry['llm_message']) ? [entry['llm_message']] : null;
    case 'ActionEvent': {
      const reasoning = valueAt(entry, 'reasoning_content', 'thinking_blocks', 'responses_reasoning_item');
      // Several calls of one answer are separate events.
      const piece = typeof response === 'string' ? `run-${response}` : null;
      return [{ role: 'assistant', id: piece, reasoning, content: entry['thought'], tool_calls: [entry['tool_call']] }];
    }
    case 'ObservationEvent':
    case 'UserRejectObservation':
    case 'AgentErrorEvent': {
      const given = valueAt(entry, 'observation', 'rejection_reason', 'error');
      const result = isRecord(given) && Array.isArray(given['content']) ? given['content'] : given;
      return [{ role: 'tool', tool_results: [{ id, name, result }] }];
    }
    default:
      return null;
  }
}

/** Reads a message of Semantic Kernel for .NET, whose keys begin with capitals. */
function semanticKernel(entry: Fields): readonly Fields[] | null {
  const role = textAt(fieldsAt(entry, 'Role'), 'Label');
  return role === null
    ? null
    : [{ role, name: entry['AuthorName'], content: listAtKey(entry, 'Items').filter(isRecord).map(kernelItem) }];
}

function kernelItem(item: Fields): Fields {
  const name = [item['PluginName'], item['FunctionName']].filter((part) => typeof part === 'string').join('-');
  switch (item['$type']) {
    case 'FunctionCallContent':
      return { type: 'tool_call', id: item['Id'], name, arguments: item['Arguments'] };
    case 'FunctionResultContent':
      return { type: 'tool_result', tool_call_id: item['CallId'], name, result: item['Result'] };
    default:
      return typeof item['Text'] === 'string' ? { type: 'text', text: item['Text'] } : item;
  }
}

/** Reads a message of OpenCode, whose parts hold tool calls with their results. */
function openCode({ info, parts }: Fields): readonly Fields[] | null {
  return isRecord(info) && typeof info['role'] === 'string' && Array.isArray(parts)
    ? [{ ...info, parts: parts.filter(isRecord).map(openCodePart) }]
    : null;
}

function openCodePart(part: Fields): Fields {
  const state = fieldsAt(part, 'state');
  return part['type'] === 'tool'
    ? {
        type: 'tool_call',
        id: part['callID'],
        name: part['tool'],
        arguments: state['input'],
        output: valueAt(state, 'output', 'error'),
      }
    : part;
}

/** Reads a turn of a session of Llama Stack, in steps. */
function llamaStack({ input_messages: input, steps, output_message: output }: Fields): readonly Fields[] | null {
  if (!Array.isArray(input) || !isRecord(output)) {
    return null;
  }
  const within = (Array.isArray(steps) ? steps : []).filter(isRecord).flatMap((step): readonly Fields[] => {
    const { model_response: said } = step;
    const gave = listAtKey(step, 'tool_responses').filter(isRecord);
    const found = valueAt(step, 'inserted_context') ?? fieldsAt(step, 'violation')['user_message'];
    return [
      ...(isRecord(said) ? [said] : []),
      ...(found === undefined || found === null ? [] : [{ role: 'tool', name: step['step_type'], content: found }]),
      ...gave.map(({ call_id: id, tool_name: name, content }) => ({
        role: 'tool',
        tool_results: [{ id, name, result: content }],
      })),
    ];
  });
  const last = within.at(-1);
  // The last answer of the model may also be the output of the turn.
  const isRepeated = last?.['role'] === 'assistant' && asText(last['content']) === asText(output['content']);
  return [...input.filter(isRecord), ...within, ...(isRepeated ? [] : [output])];
}

/** Reads a message of Haystack in the form of versions 2.9 to 2.11. */
const haystack = ({ _role: role, _name: name, _content: content }: Fields): readonly Fields[] | null =>
  typeof role === 'string' ? [{ role, name, content }] : null;

const PROGRAMS = [letta, smolagents, camel, crewAi, openHands, semanticKernel, openCode, llamaStack, haystack] as const;
