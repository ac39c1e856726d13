/** Logs of further libraries, each after its source, with what must be read of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askedIn, saidIn } from './wholeLog.ts';

const json = (value: unknown): string => JSON.stringify(value);
const USER = { role: 'user', content: 'Where?' };

describe('what an answer quotes is in its message:', () => {
  const answer = (part: unknown): string => json([USER, { role: 'assistant', content: [part] }]);

  it('of documents and of pages that Anthropic reads', () => {
    const document = {
      type: 'char_location',
      cited_text: 'Oslo is a city.',
      document_index: 0,
      document_title: 'Plan',
    };
    const page = { type: 'web_search_result_location', url: 'https://a.org', title: null, cited_text: 'In Norway.' };
    assert.deepEqual(saidIn(answer({ type: 'text', text: 'Oslo', citations: [document, page] })), [
      'assistant > Oslo\n[citation] Plan: Oslo is a city.\n[citation] In Norway.',
    ]);
  });

  it('of Bedrock, where it is around the text', () => {
    const citation = { title: 'Plan', location: {}, sourceContent: [{ text: 'Oslo is a city.' }] };
    assert.deepEqual(saidIn(answer({ citationsContent: { content: [{ text: 'Oslo' }], citations: [citation] } })), [
      'assistant > Oslo\n[citation] Plan: Oslo is a city.',
    ]);
  });

  it("of threads of OpenAI's assistants, whose texts are objects", () => {
    const annotation = { type: 'file_citation', text: '[0]', file_citation: { file_id: 'f', quote: 'A city.' } };
    assert.deepEqual(saidIn(answer({ type: 'text', text: { value: 'Oslo', annotations: [annotation] } })), [
      'assistant > Oslo\n[citation] A city.',
    ]);
  });

  it('of LiteLLM, beside the message', () => {
    const log = json([
      USER,
      { role: 'assistant', content: 'Oslo', provider_specific_fields: { citations: [[{ cited_text: 'A city.' }]] } },
    ]);
    assert.deepEqual(saidIn(log), ['assistant > Oslo\n[citation] A city.']);
  });
});

describe('messages and their parts are read as a library names them:', () => {
  const FOUND = ['assistant > I look.\nfind {"q":1}', '[find] A city.', 'assistant > Oslo'];

  it('Haystack, by their keys (from 2.12)', () => {
    const call = { id: 'c', tool_name: 'find', arguments: { q: 1 } };
    const log = json([
      { role: 'user', content: [{ text: 'Where?' }], meta: {}, name: null },
      {
        role: 'assistant',
        content: [{ reasoning: { reasoning_text: 'I look.', extra: {} } }, { tool_call: call }],
        meta: {},
      },
      { role: 'tool', content: [{ tool_call_result: { result: 'A city.', origin: call, error: false } }], meta: {} },
      { role: 'assistant', content: [{ text: 'Oslo' }], meta: {} },
    ]);
    assert.deepEqual(saidIn(log), FOUND);
  });

  it('LlamaIndex, in blocks (llama-index-core 0.14)', () => {
    const block = (type: string, more: object) => ({ block_type: type, ...more });
    const log = json([
      { role: 'user', additional_kwargs: {}, blocks: [block('text', { text: 'Where?' })] },
      {
        role: 'assistant',
        additional_kwargs: {},
        blocks: [
          block('thinking', { content: 'I look.' }),
          block('tool_call', { tool_call_id: 'c', tool_name: 'find', tool_kwargs: { q: 1 } }),
        ],
      },
      { role: 'tool', additional_kwargs: { tool_call_id: 'c' }, blocks: [block('text', { text: 'A city.' })] },
      { role: 'assistant', additional_kwargs: {}, blocks: [block('text', { text: 'Oslo' })] },
    ]);
    assert.deepEqual(saidIn(log), FOUND);
  });

  it('Semantic Kernel for Python, in items (semantic-kernel 1)', () => {
    const item = (type: string, more: object) => ({ metadata: {}, content_type: type, ...more });
    const log = json({
      messages: [
        { content_type: 'message', role: 'user', items: [item('text', { text: 'Where?' })] },
        {
          content_type: 'message',
          role: 'assistant',
          items: [
            item('text', { text: 'I look.' }),
            item('function_call', { id: 'c', index: 0, name: 'find', arguments: '{"q":1}' }),
          ],
        },
        {
          content_type: 'message',
          role: 'tool',
          items: [item('function_result', { id: 'c', name: 'find', result: 'A city.' })],
        },
        { content_type: 'message', role: 'assistant', items: [item('text', { text: 'Oslo' })] },
      ],
    });
    assert.deepEqual(saidIn(log), FOUND);
  });

  it('Cohere, with a plan before its calls (the client of version 2)', () => {
    const log = json([
      USER,
      {
        role: 'assistant',
        tool_plan: 'I look.',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'find', arguments: '{"q":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'A city.' },
      { role: 'assistant', content: [{ type: 'text', text: 'Oslo' }] },
    ]);
    assert.deepEqual(saidIn(log), FOUND);
    assert.deepEqual(askedIn(log)[0], 'user: Where?');
  });
});
