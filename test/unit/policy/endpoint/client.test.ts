/** The client against servers that misbehave: nothing lost, nothing doubled, no hang, errors in plain words. */

import assert from 'node:assert/strict';
import { globalAgent } from 'node:http';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { exchange } from '../../../../src/policy/endpoint/exchange.ts';
import { EndpointFailure, parseRetryAfter, Unanswered } from '../../../../src/policy/endpoint/failure.ts';
import { LongWaits } from '../../../../src/policy/endpoint/longWaits.ts';
import { Spending } from '../../../../src/policy/endpoint/spending.ts';
import type { ServerCost } from '../../../../src/shared/endpointCost.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import type { LongWait } from '../../../../src/shared/longWait.ts';
import { answersWell, answerTo, badServer, FAULTS, promptOf, type Behaviour } from './badServer.ts';
import { ask, clientOf, manyRequests, MOST, UNLIMITED } from './manyRequests.ts';

manyRequests(240);

describe('a request that is never answered', () => {
  const words: Readonly<Record<string, RegExp>> = {
    'too many, with a time': /^127\.0\.0\.1:\d+ has too many requests \(429\): no luck \(429\), asked 3 times$/,
    'too many, without': /has too many requests/,
    'an error of the server': /failed with 500: no luck/,
    'no JSON': /gave an answer that cannot be read/,
    'another form': /gave an answer that cannot be read \(choices: /,
    'a stream that is cut in the middle': /broke off its answer/,
    'a stream that ends early': /ended its answer in the middle/,
    'an error within a stream': /failed within its answer: overloaded/,
    'a connection that is cut': /cannot be reached/,
    'no answer at all': /did not answer within 0\.3 s/,
  };
  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`says why: ${name}`, async (t) => {
      const server = await badServer(t, () => fault);
      const client = clientOf([server.base], { retries: 2, timeLimit: 300 });
      await assert.rejects(ask(client, '1'), (error) => {
        assert.ok(error instanceof Unanswered);
        assert.match(error.message, words[name] ?? /^$/);
        return true;
      });
      assert.equal(server.requests.length, 3);
    });
  }

  it('is given up where the server asks to wait for hours, and at once where it withholds the text', async (t) => {
    const patient = await badServer(t, () => (response) => {
      response.writeHead(429, { 'retry-after': '7200' }).end();
    });
    const waiting =
      /\(429\); the server asks to wait 7,200 s, and at most 120 s are allowed unless the user agrees to more \(set C3_LONGEST_WAIT=7200 to allow it\)$/;
    await assert.rejects(ask(clientOf([patient.base]), '1'), waiting);
    const filtered = await badServer(t, () => (response, asked) => {
      const choices = [{ index: 0, text: '', finish_reason: 'content_filter' }];
      response.writeHead(200, { 'content-type': 'application/json' }).end(answerTo(promptOf(asked), { choices }));
    });
    await assert.rejects(ask(clientOf([filtered.base]), '1'), /gave no text: it ended with content_filter/);
    assert.deepEqual([patient.requests.length, filtered.requests.length], [1, 1]);
  });
});

it('the words of an error are read up to 64 KiB, and what lies beyond is left out', async (t) => {
  const wordsOf = async (bytes: number): Promise<string> => {
    const said = JSON.stringify({ error: { message: 'the queue is full' } });
    const server = await badServer(t, () => (response) => {
      response.writeHead(500).end(' '.repeat(bytes - said.length) + said);
    });
    const failed: unknown = await ask(clientOf([server.base], { retries: 0 }), '1').catch((error: unknown) => error);
    return failed instanceof Unanswered ? failed.message : assert.fail();
  };
  assert.match(await wordsOf(64 * 1024), /failed with 500: the queue is full/);
  assert.doesNotMatch(await wordsOf(2 * 64 * 1024), /the queue is full$/);
});

describe('a server that asks to wait for an hour', () => {
  const patient: Behaviour = (response) => {
    response.writeHead(429, { 'retry-after': '3600' }).end();
  };

  const shortly: Behaviour = (response) => {
    response.writeHead(429, { 'retry-after': '0.2' }).end();
  };

  it('is waited for by nobody: those who would wait for their turn are refused with the same sentence', async (t) => {
    const server = await badServer(t, () => patient);
    const client = clientOf([server.base], { concurrency: 1 });
    const asked = Array.from({ length: 5 }, (_, index) => ask(client, String(index)));
    for (const one of asked) {
      await assert.rejects(one, { name: 'Unanswered', message: /the server asks to wait 3,600 s, and at most 120 s/ });
    }
    await assert.rejects(ask(client, 'later'), { message: /asks to wait 3,600 s/ });
    assert.equal(server.requests.length, 1);
  });

  it('is waited for where somebody agrees, who is asked once for all who wait', async (t) => {
    let before = 0;
    const server = await badServer(t, (one) => (response, given) => {
      return (before++ < 3 ? shortly : answersWell(one))(response, given);
    });
    const asked: LongWait[] = [];
    const waits = new LongWaits((wait) => {
      asked.push(wait);
      return Promise.resolve(true);
    }, 0);
    const client = clientOf([server.base], { concurrency: 3, retries: 0, waits });
    const prompts = ['1', '2', '3', '4'];
    assert.deepEqual(
      await Promise.all(prompts.map((prompt) => ask(client, prompt))),
      prompts.map((prompt) => `echo ${prompt}`),
    );
    assert.deepEqual(
      asked.map(({ server: host }) => host),
      [new URL(server.base).host],
    );
    assert.ok((asked[0]?.milliseconds ?? 0) > 150 && (asked[0]?.milliseconds ?? 0) <= 200);
  });

  it('is refused once for all roles where somebody refuses it, and a cancel ends the question', async (t) => {
    const server = await badServer(t, () => patient);
    const questions: { readonly answer: (agrees: boolean) => void; readonly signal: AbortSignal }[] = [];
    const waits = new LongWaits((_, signal) => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      questions.push({ answer: resolve, signal });
      return promise;
    });
    const leaving = new AbortController();
    const left = clientOf([server.base], { waits }).ask('0', { prompt: '0' }, MOST, { signal: leaving.signal });
    while (questions.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    leaving.abort();
    await assert.rejects(left, CancelledError);
    const [question] = questions;
    assert.equal(question?.signal.aborted, true);
    question.answer(false);
    const others = ['1', '2'].map((prompt) => ask(clientOf([server.base], { waits }), prompt));
    for (const one of others) {
      await assert.rejects(one, { name: 'Unanswered', message: /asks to wait 3,600 s.*set C3_LONGEST_WAIT=3600/ });
    }
    assert.equal(questions.length, 1);
  });

  it('leaves its requests to the others', async (t) => {
    const [server, well] = [await badServer(t, () => patient), await badServer(t, answersWell)];
    const client = clientOf([server.base, well.base], { concurrency: 1 });
    for (const prompt of ['1', '2', '3']) {
      assert.equal(await ask(client, prompt), `echo ${prompt}`);
    }
    assert.equal(server.requests.length, 1);
    well.close();
    await assert.rejects(ask(client, '4'), { name: 'Unanswered', message: /cannot be reached .*, asked 7 times$/ });
  });
});

describe('what no attempt can help', () => {
  it('is not asked again, and its key is in no message', async (t) => {
    const key = 'sk-very-secret-0123456789';
    for (const [status, says] of [
      [401, /refuses the key \(401\): bad key \*\*\*/],
      [404, /has no such model or address \(404\)/],
      [400, /refuses the request \(400\)/],
    ] as const) {
      const server = await badServer(t, () => (response, { authorization }) => {
        assert.equal(authorization, `Bearer ${key}`);
        response.writeHead(status).end(JSON.stringify({ error: { message: `bad key ${key}` } }));
      });
      await assert.rejects(ask(clientOf([server.base], { keyOf: () => key }), '1'), (error) => {
        assert.ok(error instanceof EndpointFailure && error.kind === 'refused');
        assert.match(error.message, says);
        assert.ok(!error.message.includes(key));
        return true;
      });
      assert.equal(server.requests.length, 1);
    }
  });

  it('is another model than the one that answered before', async (t) => {
    const server = await badServer(t, () => (response, asked) => {
      const model = promptOf(asked) === '2' ? 'other' : 'm';
      response.writeHead(200, { 'content-type': 'application/json' }).end(answerTo(promptOf(asked), { model }));
    });
    const client = clientOf([server.base]);
    assert.equal(await ask(client, '1'), 'echo 1');
    await assert.rejects(ask(client, '2'), /answers as the model other, and not as m as before/);
  });

  it('is a redirect: a key goes to no other address', async (t) => {
    const other = await badServer(t, answersWell);
    const server = await badServer(t, () => (response) => {
      response.writeHead(307, { location: `${other.base}/completions` }).end();
    });
    await assert.rejects(ask(clientOf([server.base], { keyOf: () => 'k' }), '1'), {
      name: 'EndpointFailure',
      message: /sends requests to another address \(307\)/,
    });
    assert.equal(server.requests.length, 1);
    assert.equal(other.requests.length, 0);
  });
});

it('a cancel ends what waits and what is under way', async (t) => {
  const server = await badServer(t, () => FAULTS['no answer at all'] ?? answersWell(server));
  const client = clientOf([server.base], { concurrency: 2, timeLimit: 60_000 });
  const leaving = new AbortController();
  const asked = ['1', '2', '3', '4'].map((prompt) => client.ask(prompt, { prompt }, MOST, { signal: leaving.signal }));
  while (server.requests.length < 2) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  leaving.abort();
  await Promise.all(asked.map((one) => assert.rejects(one, CancelledError)));
});

it('a cancel before or within an answer is no failure of the server, and a time limit is one', async (t) => {
  for (const begins of [false, true]) {
    const server = await badServer(t, () => (response) => {
      if (begins) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{');
      }
    });
    const asking = { base: server.base, api: 'completions', key: null, body: { prompt: '1' } } as const;
    const leaving = new AbortController();
    const cancelled = exchange({ ...asking, timeLimit: 60_000 }, leaving.signal);
    while (server.requests.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    leaving.abort();
    await assert.rejects(cancelled, CancelledError);
    await assert.rejects(
      exchange({ ...asking, timeLimit: 50 }, new AbortController().signal),
      /not answer within 0\.05 s/,
    );
  }
});

describe('a good answer is read', () => {
  it('that comes packed though nobody asked for it', async (t) => {
    for (const [encoding, pack] of [
      ['gzip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
    ] as const) {
      const server = await badServer(t, () => (response, asked) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
        response.end(pack(answerTo(promptOf(asked))));
      });
      assert.equal(await ask(clientOf([server.base]), encoding), `echo ${encoding}`);
    }
  });
});

it('an answer that is damaged, and ends before all of it is read, costs an attempt and not this process', async (t) => {
  const server = await badServer(t, (own) => (response, asked) => {
    if (asked.before > 0) {
      return answersWell(own)(response, asked);
    }
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', connection: 'close' });
    response.end(Buffer.concat([gzipSync('{}').subarray(0, 12), Buffer.alloc(2 ** 18, ': ping\n')]));
  });
  assert.equal(await ask(clientOf([server.base]), '1'), 'echo 1');
});

it('a kept connection gathers no listeners from the requests that it is used for', async (t) => {
  const server = await badServer(t, answersWell);
  const client = clientOf([server.base], { concurrency: 1 });
  const kept = (): Socket[] =>
    Object.entries(globalAgent.freeSockets).flatMap(([name, own = []]) =>
      name.includes(`:${new URL(server.base).port}:`) ? own : [],
    );
  for (const prompt of ['1', '2', '3']) {
    await ask(client, prompt);
    while (kept().length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  assert.deepEqual(
    kept().map((socket) => socket.listenerCount('connect')),
    [0],
  );
});

describe('a spending limit', () => {
  // One request costs 3 and 2 tokens, and at most 8 and 8: 0.003 * 1000 and so on at these prices for a million.
  const PRICES = { input: 1000, output: 2000 };

  it('is reached and never passed, with many requests at once', async (t) => {
    const server = await badServer(t, answersWell);
    for (const limit of [
      { tokens: 100, money: null },
      { tokens: null, money: 0.1 },
    ]) {
      const spending = new Spending(limit);
      const client = clientOf([server.base], { spending, prices: PRICES });
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) => ask(client, `${JSON.stringify(limit)} ${index}`)),
      );
      const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
      assert.ok(refused.length > 0 && refused.length < 60);
      for (const error of refused) {
        assert.ok(error instanceof C3Error && error.kind === 'budget');
        assert.match(error.message, /^The spending limit of (100 tokens|0\.1) is too low/);
      }
      const { calls, prompt, completion, money } = spending.spent;
      assert.equal(calls, 60 - refused.length);
      assert.deepEqual([prompt, completion], [3 * calls, 2 * calls]);
      assert.ok(Math.abs(money - (calls * (3 * 1000 + 2 * 2000)) / 1e6) < 1e-12);
      // As far as it goes: another request could have passed it.
      assert.ok(limit.tokens === null || (prompt + completion <= 100 && prompt + completion + 16 > 100));
      assert.ok(limit.money === null || (money <= 0.1 && money + (8 * 1000 + 8 * 2000) / 1e6 > 0.1));
    }
  });

  it('counts what may have been charged: an answer that broke off as the most that it can have cost', async (t) => {
    const server = await badServer(
      t,
      (own) => (response, asked) =>
        (asked.before === 0 ? FAULTS['a stream that ends early'] : answersWell(own))?.(response, asked),
    );
    const spending = new Spending(UNLIMITED);
    await ask(clientOf([server.base], { spending, prices: PRICES }), '1');
    assert.deepEqual(spending.spent.calls, 2);
    assert.deepEqual([spending.spent.prompt, spending.spent.completion], [8 + 3, 8 + 2]);
  });

  it('counts each server of a role at its own prices, and tokens without a price at those of the next', async (t) => {
    const server = await badServer(t, answersWell);
    const costs: ServerCost[] = [];
    const spending = new Spending(UNLIMITED, (cost) => costs.push(cost));
    for (const prices of [PRICES, { input: 0, output: 0 }, { input: 0, output: 1000 }]) {
      await ask(clientOf([server.base], { spending, prices }), JSON.stringify(prices));
    }
    const used = { prompt: 3, completion: 2 };
    assert.deepEqual(costs, [
      { ...used, money: 0.007 },
      { ...used, money: null },
      { ...used, money: 0.002 },
    ]);
    // 0.009 are spent, and 3 and 2 tokens without a price: 0.007 at the prices of a request that may cost 0.024.
    for (const [money, fits] of [
      [0.0401, true],
      [0.0399, false],
    ] as const) {
      spending.continueFrom(spending.spent, { tokens: null, money });
      const reserved = spending.reserve(MOST, PRICES);
      await (fits ? reserved.then((one) => spending.charge(one, null)) : assert.rejects(reserved, { kind: 'budget' }));
    }
  });
});

it('Retry-After is seconds or a date', () => {
  const now = Date.parse('2025-01-01T00:00:00Z');
  assert.equal(parseRetryAfter('2', now), 2000);
  assert.equal(parseRetryAfter('Wed, 01 Jan 2025 00:00:05 GMT', now), 5000);
  assert.equal(parseRetryAfter('Wed, 01 Jan 2020 00:00:05 GMT', now), 0);
  assert.equal(parseRetryAfter('99999999999999999999', now), 1e12);
  assert.equal(parseRetryAfter('soon', now), null);
  assert.equal(parseRetryAfter(null, now), null);
});
