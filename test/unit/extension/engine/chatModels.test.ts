import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ChatModels,
  classifyFailure,
  type ChatModel,
  type ChatSurface,
} from '../../../../src/extension/engine/chatModels.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';

interface Asked {
  readonly messages: readonly string[];
  readonly justification: string;
  readonly options: Readonly<Record<string, unknown>>;
}

type Model = ChatModel<string, null>;

/** A chat model that says these parts, or fails; a token is a letter. */
function modelOf(parts: readonly string[] | Error, more: Partial<Model> = {}, asked: Asked[] = []): Model {
  return {
    ...{ vendor: 'maker', family: 'small', version: '1', id: 'one', name: 'One', maxInputTokens: 100 },
    countTokens: (text) => Promise.resolve(text.length),
    sendRequest: (messages, { justification, modelOptions: options }) => {
      asked.push({ messages, justification, options });
      return parts instanceof Error ? Promise.reject(parts) : Promise.resolve({ text: streamOf(parts) });
    },
    ...more,
  };
}

async function* streamOf(parts: readonly string[]): AsyncGenerator<string, void, undefined> {
  for (const part of parts) {
    yield await Promise.resolve(part);
  }
}

interface Fake {
  readonly chat: ChatModels<string, null, Model>;
  readonly cancelled: () => number;
}

function chatOf(models: readonly Model[], canAsk: boolean | 'unasked' = true): Fake {
  let cancelled = 0;
  const surface: ChatSurface<string, null, Model> = {
    select: (wanted) =>
      Promise.resolve(
        models.filter((model) =>
          (['vendor', 'family', 'version', 'id'] as const).every(
            (key) => wanted[key] === undefined || wanted[key] === model[key],
          ),
        ),
      ),
    canAsk: () => (canAsk === 'unasked' ? undefined : canAsk),
    user: (text) => `user: ${text}`,
    assistant: (text) => `assistant: ${text}`,
    cancellation: () => ({
      token: null,
      cancel: () => {
        cancelled++;
      },
      dispose: () => undefined,
    }),
  };
  return { chat: new ChatModels(surface), cancelled: () => cancelled };
}

const question = {
  ...{ vendor: 'maker', id: 'one', role: 'planner', temperature: 0.5, topP: 1, maxNewTokens: 10 },
  messages: [
    { role: 'system', content: 'Plan.' },
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: 'Now?' },
  ],
};

describe('a chat model of VS Code', () => {
  it('is asked with what was said, in order, and its tokens are its own count', async () => {
    const asked: Asked[] = [];
    const { chat } = chatOf([modelOf(['Go', ' on'], {}, asked)]);
    assert.deepEqual(await chat.answer(question, NEVER), {
      ...{ kind: 'answer', text: 'Go on', finish: 'end', prompt: 11 + 15 + 10, completion: 5 },
    });
    assert.deepEqual(asked, [
      {
        messages: ['user: Plan.', 'assistant: Yes.', 'user: Now?'],
        justification: 'C3 asks this model for the messages of the role planner.',
        options: { temperature: 0.5, top_p: 1, max_tokens: 10 },
      },
    ]);
  });

  it('is stopped where its answer has as many tokens as it may have', async () => {
    const { chat, cancelled } = chatOf([modelOf(Array.from({ length: 1000 }, () => 'abcdefgh'))]);
    const answer = await chat.answer(question, NEVER);
    assert.ok(answer.kind === 'answer' && answer.text.length <= 256);
    assert.deepEqual([answer.finish, cancelled()], ['length', 1]);
  });

  it('is not asked what it has no room for', async () => {
    const asked: Asked[] = [];
    const { chat } = chatOf([modelOf(['a'], { maxInputTokens: 35 }, asked)]);
    assert.deepEqual(await chat.answer(question, NEVER), { kind: 'long', words: 'it has 36 tokens of at most 35' });
    assert.deepEqual(asked, []);
  });

  it('is cancelled with its request, which is no failure', async () => {
    const controller = new AbortController();
    const { chat, cancelled } = chatOf([
      modelOf([], {
        sendRequest: () => {
          controller.abort();
          return Promise.reject(new Error('Canceled'));
        },
      }),
    ]);
    await assert.rejects(chat.answer(question, controller.signal), CancelledError);
    assert.equal(cancelled(), 1);
  });
});

describe('choosing a chat model', () => {
  const both = [modelOf(['yes']), modelOf(['yes'], { family: 'large', id: 'two', name: 'Two' })];
  const wanted = { model: { family: 'large' }, known: null, role: 'planner' };

  it('takes the first that fits, or the very one that answered before', async () => {
    assert.deepEqual(await chatOf(both).chat.open(wanted, NEVER), {
      ...{ kind: 'open', vendor: 'maker', id: 'two', name: 'Two' },
    });
    const known = { vendor: 'maker', id: 'one' };
    const opened = await chatOf(both).chat.open({ ...wanted, known }, NEVER);
    assert.equal(opened.kind === 'open' && opened.id, 'one');
  });

  it('names those that there are where none fits', async () => {
    assert.deepEqual(await chatOf(both).chat.open({ ...wanted, model: { vendor: 'other' } }, NEVER), {
      kind: 'missing',
      words: 'maker small (one), maker large (two)',
    });
    assert.deepEqual(await chatOf([]).chat.open(wanted, NEVER), { kind: 'missing', words: '' });
  });

  it('has VS Code ask the user only where that was never done', async () => {
    const asked: Asked[] = [];
    const one = modelOf(['yes'], {}, asked);
    const any = { model: {}, known: null, role: 'planner' };
    assert.equal((await chatOf([one]).chat.open(any, NEVER)).kind, 'open');
    assert.equal((await chatOf([one], false).chat.open(any, NEVER)).kind, 'consent');
    assert.equal(asked.length, 0);
    assert.equal((await chatOf([one], 'unasked').chat.open(any, NEVER)).kind, 'open');
    assert.equal(asked.length, 1);
    const refused = modelOf(Object.assign(new Error('no'), { code: 'NoPermissions' }));
    assert.equal((await chatOf([refused], 'unasked').chat.open(any, NEVER)).kind, 'consent');
  });
});

it('an error says by its code or its name what it means, and its words are one bounded line', () => {
  const coded = (code: string): Error => Object.assign(new Error('why'), { code });
  assert.deepEqual(
    ['NoPermissions', 'Blocked', 'NotFound', 'Unknown'].map((code) => classifyFailure(coded(code)).kind),
    ['consent', 'quota', 'missing', 'failed'],
  );
  const limited = Object.assign(new Error('slow down'), { name: 'ChatRateLimited' });
  assert.deepEqual(classifyFailure(Object.assign(new Error('failed', { cause: limited }), { code: 'Unknown' })), {
    kind: 'busy',
    words: 'failed: slow down',
  });
  assert.equal(classifyFailure(Object.assign(new Error('x'), { name: 'ChatQuotaExceeded' })).kind, 'quota');
  const { kind, words } = classifyFailure(new Error(`a\nb${'c'.repeat(10_000)}`));
  assert.ok(kind === 'failed' && words.length <= 301 && !words.includes('\n'), words);
  assert.equal(classifyFailure('text').kind, 'failed');
});
