/**
 * Continues any program that `c3 record` can run, with no line of code for it: `program.mjs COMMAND...`, or `program`
 * in a team file. The command is started, gets what was said so far for its calls, and is held at the first call that
 * was not made yet. A log that has it lets the program go on; another one starts the command again.
 */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { availableParallelism, totalmem } from 'node:os';
import { passing, replyFrom } from './driver.mjs';

const [program, ...args] = process.argv.slice(2);
/** Characters of what a program says of its errors. */
const MOST_ERRORS = 1000;
/** Programs that are held at once: they get a sixteenth of the memory, and each takes about 128 MiB. */
let mostHeld = Math.floor(totalmem() / 16 / 2 ** 27);
/** Milliseconds that a program is held; clients of models wait longer for an answer. */
const LONGEST_HELD = 60_000;
/** Bytes of a request that are kept, as `c3 record` passes them on. What is longer is read on this often, to be refused. */
const MOST_BYTES = 64 * 2 ** 20;
const READ_ON = 2;
/** Programs that run at once, and sessions that wait for their turn. */
let free = Math.max(1, availableParallelism());
const waiting = [];
/** Starts of the program that have not ended, by the first part of the address that each was given. */
const runs = new Map();

const server = createServer((request, response) => {
  // A client may leave at any time.
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1');
server.unref();

async function answer(request, response) {
  const [, name, door = '', ...rest] = (request.url ?? '').split('/');
  const run = runs.get(name);
  const known = run !== undefined && request.headers.origin === undefined;
  const body = await bodyIn(request, known ? MOST_BYTES : 0);
  if (!known) {
    response.writeHead(404).end();
  } else if (body === null) {
    response.writeHead(413).end();
  } else if (door === 'score') {
    run.score = scoreIn(body);
    response.writeHead(run.score === null ? 400 : 200, { 'content-type': 'application/json' }).end('{}');
  } else if (door !== 'v1') {
    // Spans are taken, and say nothing that a continuation needs.
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  } else {
    const address = `http://c3.invalid/${rest.join('/')}`;
    await run.take({ request: new Request(address, { method: 'POST', headers: request.headers, body }), response });
  }
}

/** The body of a request; null where it is too long. It is read whole, or else its client would not hear why. */
async function bodyIn(request, most) {
  const pieces = [];
  let length = 0;
  for await (const piece of request) {
    length += piece.length;
    if (length > READ_ON * MOST_BYTES) {
      throw new Error('The request has no end.');
    }
    if (length <= most) {
      pieces.push(piece);
    }
  }
  return length > most ? null : Buffer.concat(pieces).toString('utf8');
}

/** The score that a program sends; null where it is none. */
function scoreIn(body) {
  try {
    const { return: score } = JSON.parse(body);
    return typeof score === 'number' && Number.isFinite(score) ? score : null;
  } catch {
    return null;
  }
}

/** One start of the program, which goes through the log of one session and then of others that go on from it. */
class Run {
  constructor(question) {
    // Nobody else on this machine can guess it.
    const name = randomUUID();
    this.question = question;
    this.session = null;
    this.score = null;
    /** The call that it is held at. */
    this.call = null;
    const base = `http://127.0.0.1:${server.address().port}/${name}`;
    this.child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        OPENAI_BASE_URL: `${base}/v1`,
        OPENAI_API_BASE: `${base}/v1`,
        OTEL_EXPORTER_OTLP_ENDPOINT: `${base}/otlp`,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${base}/otlp/v1/traces`,
        C3_RECORD_SCORE: `${base}/score`,
        C3_QUESTION: question,
      },
    });
    runs.set(name, this);
    this.ended = endOf(this.child).finally(() => runs.delete(name));
    // A session that waits for it hears of it; one that is stopped while it is held fails nobody.
    this.ended.catch(() => undefined);
  }

  /** Goes through a session's log, to the end of the program or to a call that the log does not have. */
  async through(session) {
    const { session: earlier, call } = this;
    [this.session, this.call] = [session, null];
    if (call !== null) {
      clearTimeout(call.timer);
      session.goOn(earlier);
      void this.take(call);
    }
    const { next } = (await Promise.race([this.ended, session.answer.promise])) ?? {};
    if (session.isOver && next === undefined) {
      this.stop();
    }
  }

  /** Answers a request of the program to a model, or holds the program at it. */
  async take(call) {
    const reply = await replyFrom(this.session, call.request.clone());
    if (reply === null) {
      this.hold(call);
      return;
    }
    call.response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
    if (reply.status !== 200) {
      // It may have asked two at once: what was refused one call does not go on from the other.
      this.stop();
    }
  }

  hold(call) {
    const held = [...runs.values()].filter((run) => run.call !== null).length;
    if (held >= mostHeld) {
      this.stop();
      return;
    }
    this.call = call;
    call.timer = setTimeout(() => this.stop(), LONGEST_HELD);
    // A client that no longer waits asks again, or gives up.
    call.response.once('close', () => this.call === call && this.stop());
  }

  stop() {
    clearTimeout(this.call?.timer);
    this.call = null;
    this.child.kill();
  }
}

/** @throws Error where the program cannot be started or fails, with what it said */
async function endOf(child) {
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    errors = (errors + piece).slice(-MOST_ERRORS);
  });
  const ended = Promise.withResolvers();
  child.once('error', ended.reject);
  child.once('close', (code, signal) => ended.resolve(code ?? signal));
  const how = await ended.promise;
  if (how !== 0) {
    throw new Error(`it ended with ${how}${errors.trim() === '' ? '' : `, and said: ${errors.trim()}`}`);
  }
}

/** The run that is held furthest on the way to a session's log. */
const heldFor = (session, question) =>
  [...runs.values()]
    .filter((run) => run.call !== null && run.question === question && run.session.leadsTo(session))
    .sort((a, b) => b.session.entries.length - a.session.entries.length)[0];

/** Waits until another program may run. */
const turn = () => (free-- > 0 ? undefined : new Promise((resolve) => waiting.push(resolve)));
const giveTurn = () => {
  free++;
  waiting.shift()?.();
};

// Nobody asks anymore.
process.stdin.once('end', () => {
  mostHeld = 0;
  for (const run of runs.values()) {
    if (run.call !== null) {
      run.stop();
    }
  }
});

passing(async (session, question) => {
  await turn();
  try {
    const run = heldFor(session, question) ?? new Run(question);
    await run.through(session);
    // What came out of a program that does not say is what was said last.
    const last = session.entries.findLast(({ kind }) => kind === 'message');
    return { text: last?.text ?? '', return: run.score };
  } finally {
    giveTurn();
  }
});
