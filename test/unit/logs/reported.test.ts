/**
 * Logs after public reports of other projects, each a file of test/fixtures/logs/reported: nothing that they say is
 * lost, nothing is invented, and what is not read is counted.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { wholeLog, type WholeLog } from './wholeLog.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/logs/reported');

/** `speaker > text` for a message, `[source] text` for what came from outside. */
const said = ({ episodes }: WholeLog): string[][] =>
  episodes.map(({ entries }) =>
    entries.map((entry) =>
      entry.kind === 'message' ? `${entry.speaker} > ${entry.text}` : `[${entry.source}] ${entry.text}`,
    ),
  );
const contexts = ({ episodes }: WholeLog): string[][] =>
  episodes.flatMap(({ entries }) =>
    entries.flatMap((entry) =>
      entry.kind === 'message'
        ? [entry.context.list.slice(0, entry.context.length).map(({ role, text }) => `${role}: ${text}`)]
        : [],
    ),
  );

interface Expected {
  readonly said: readonly (readonly string[])[];
  readonly contexts?: readonly (readonly string[])[];
  readonly returns?: readonly (number | null)[];
  readonly leftOut?: Readonly<Record<string, number>>;
  readonly question?: string;
}

const OSLO: Expected = { said: [['assistant > Oslo']], contexts: [['user: Capital of Norway?']] };
const TERSE: Expected = { ...OSLO, contexts: [['system: Be terse.', 'user: Capital of Norway?']] };
const FOUR: Expected = { said: [['assistant > 4']], returns: [1] };
const NO_CALLS = 'spans that are not calls of models or tools';
const CUT = 'attributes that a limit of the recording program';

const REPORTED: Readonly<Record<string, Expected>> = {
  '01_oi_responses_items.json': {
    said: [['assistant > I need the weather tool.\nLet me look that up.\nweather {"city":"Oslo"}']],
  },
  '02_anthropic_parallel_results.json': {
    said: [
      [
        'assistant > I compute both.\nadd {"a":2,"b":2}\nmul {"a":3,"b":2}',
        '[add] RESULT-A 4',
        '[mul] RESULT-B 6',
        'assistant > 4 and 6',
      ],
    ],
  },
  '04b_anthropic_request_response_multiturn.json': {
    said: [['assistant > Oslo.', '[user] And of Sweden?', 'assistant > Stockholm.']],
    contexts: [
      ['system: You are terse.', 'user: Capital of Norway?'],
      ['system: You are terse.', 'user: Capital of Norway?', 'assistant: Oslo.', 'user: And of Sweden?'],
    ],
  },
  '06_langfuse_numeric_output.json': { said: [['assistant > 42', 'assistant > true']] },
  '08_inspect_nan.json': {
    said: [['assistant > 42'], ['assistant > 2']],
    returns: [null, 1],
    leftOut: { 'entries with numbers that JSON does not have (NaN, Infinity), which are read as null (line 1)': 1 },
  },
  '09_pydantic_ai_events_attribute.json': { ...TERSE, said: [['geo > Oslo']], leftOut: { [NO_CALLS]: 1 } },
  '10_logfire_openai.json': TERSE,
  '11_semconv_log_events.jsonl': OSLO,
  '12_aisdk_truncated_prompt.json': {
    said: [['assistant > Norway is a country.']],
    contexts: [[`user: ${'Tell me everything about Norway. '.repeat(4)}Tell me ever`]],
    leftOut: { [`${CUT} cut off (ai.prompt.messages)`]: 1 },
  },
  '13_oi_dropped_attributes.json': {
    said: [['assistant > done']],
    contexts: [['user: text 3', 'assistant: text 4', 'user: text 5']],
    leftOut: { [`${CUT} dropped (ChatCompletion)`]: 7 },
  },
  '14_phoenix_spans.jsonl': { ...OSLO, said: [['AgentExecutor > Oslo']], leftOut: { [NO_CALLS]: 1 } },
  '16b_tempo_batches.json': OSLO,
  '17_conv_with_data_key.json': FOUR,
  '17b_conv_with_runs_key.jsonl': { said: [['assistant > 4'], ['assistant > 3']], returns: [1, 1] },
  '18_langsmith_child_runs.json': { ...OSLO, said: [['planner > Oslo']], leftOut: { [NO_CALLS]: 1 } },
  '19c_gemini_parts_in_messages.jsonl': {
    said: [['assistant > weather {"city":"Oslo"}', '[weather] {"sky":"rain"}', 'assistant > It rains.']],
  },
  '20_nested_tool_spans.json': {
    said: [['assistant > weather {}', '[weather] rain', 'assistant > It rains.']],
    leftOut: { 'results of tools that two libraries recorded': 1 },
  },
  '21_failed_then_retry.json': {
    said: [['assistant > weather {}', '[weather] rain', 'assistant > It rains.']],
    leftOut: { 'calls that failed': 1 },
  },
  '22_clock_skew_tool.json': {
    said: [['geo > weather {}', '[weather] rain', 'geo > It rains.']],
    leftOut: { [NO_CALLS]: 1 },
  },
  '24b_proxy_log.jsonl': OSLO,
  '26_autogen_groupchat.json': {
    said: [['Planner > Plan: multiply', 'Coder > 42', '[User_proxy] TERMINATE']],
    question: 'Solve 6*7',
  },
  '36_refusal_audio.jsonl': {
    said: [['assistant > I cannot help with that.'], ['assistant > Hello there'], ['assistant > No.']],
  },
  '63_tool_error.json': {
    said: [
      ['planner > need tool\nLooking.\nweather {"city":"Oslo"}', '[weather] Tool timed out', 'planner > Unknown.'],
    ],
    leftOut: { [NO_CALLS]: 1, 'calls that failed': 1 },
  },
  '75_claude_code_session.jsonl': {
    said: [
      [
        'assistant > Listing.\nBash {"command":"ls"}',
        '[Bash] a.txt',
        '[user] SUBAGENT TASK',
        'side chain 1 > subagent says',
        'assistant > One file.',
      ],
      ['assistant > Hello from s2'],
    ],
    contexts: [
      ['user: List files'],
      ['user: SUBAGENT TASK'],
      ['user: List files', 'assistant: Listing.\nBash {"command":"ls"}', 'tool: a.txt'],
      ['user: Other session'],
    ],
    leftOut: { 'entries of no known form (line 1 with type, summary, leafUuid)': 1 },
  },
  '77_messages_as_json_text.jsonl': { said: [['assistant > 4']], contexts: [['user: 2+2?']] },
  '82b_tool_spans_under_chat.json': {
    said: [
      [
        'manager > ask_expert {"q":"hotel?"}',
        'expert > Hotel A',
        '[ask_expert] Hotel A',
        'manager > Trip with Hotel A',
      ],
    ],
    question: 'Plan a trip',
    leftOut: { [NO_CALLS]: 2 },
  },
  '86_cut_line.jsonl': {
    said: [['assistant > 4'], ['assistant > 6']],
    leftOut: { 'entries that are not JSON (line 2)': 1 },
  },
  '93_traceloop_nested_independent.json': {
    said: [['assistant > answer 0', 'assistant > answer 1', 'assistant > answer 2', 'assistant > answer 3']],
    contexts: [['user: Hello 0'], ['user: Hello 1'], ['user: Hello 2'], ['user: Hello 3']],
  },
};

describe('a log of the reports', () => {
  for (const [file, expected] of Object.entries(REPORTED)) {
    it(`${file} says all that it says`, () => {
      const log = wholeLog(readFileSync(join(FOLDER, file)));
      assert.deepEqual(said(log), expected.said);
      assert.deepEqual(Object.fromEntries(log.leftOut), expected.leftOut ?? {});
      if (expected.contexts !== undefined) {
        assert.deepEqual(contexts(log), expected.contexts);
      }
      if (expected.returns !== undefined) {
        assert.deepEqual(
          log.episodes.map((episode) => episode.return),
          expected.returns,
        );
      }
      if (expected.question !== undefined) {
        assert.equal(log.episodes[0]?.question, expected.question);
      }
    });
  }

  it('is read of every file that is there', () =>
    assert.deepEqual(readdirSync(FOLDER).toSorted(), Object.keys(REPORTED).toSorted()));
});
