/**
 * Continues any program that `c3 record` can run, with no line of code for it: `program.mjs COMMAND...`, or `program`
 * in a team file. The command is started for each step of each continuation, gets what was said so far for its calls, and
 * is ended at the first call that was not made yet.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { text as textIn } from 'node:stream/consumers';
import { passing, replyFrom } from './driver.mjs';

const [program, ...args] = process.argv.slice(2);
/** Characters of what a program says of its errors. */
const MOST_ERRORS = 1000;
/** Programs at once, and those that wait for their turn. */
let free = Math.max(1, availableParallelism());
const waiting = [];
/** Passes of programs that run now, by the first part of the address that each was given. */
const passes = new Map();

const server = createServer(async (request, response) => {
  const [, name, door = '', ...rest] = (request.url ?? '').split('/');
  const pass = passes.get(name);
  const body = await textIn(request);
  if (pass === undefined || request.headers.origin !== undefined) {
    response.writeHead(404).end();
  } else if (door === 'score') {
    pass.score = scoreIn(body);
    response.writeHead(pass.score === null ? 400 : 200, { 'content-type': 'application/json' }).end('{}');
  } else if (door !== 'v1') {
    // Spans are taken, and say nothing that a continuation needs.
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  } else {
    const address = `http://c3.invalid/${rest.join('/')}`;
    const reply = await replyFrom(
      pass.session,
      new Request(address, { method: 'POST', headers: request.headers, body }),
    );
    response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
  }
});
server.listen(0, '127.0.0.1');
server.unref();

/** The score that a program sends; null where it is none. */
function scoreIn(body) {
  try {
    const { return: score } = JSON.parse(body);
    return typeof score === 'number' && Number.isFinite(score) ? score : null;
  } catch {
    return null;
  }
}

/** Waits until another program may be started. */
const turn = () => (free-- > 0 ? undefined : new Promise((resolve) => waiting.push(resolve)));
const giveTurn = () => {
  free++;
  waiting.shift()?.();
};

/** Runs the program to its end, or to the first call that the log does not have. */
async function run(pass, name) {
  const base = `http://127.0.0.1:${server.address().port}/${name}`;
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      OPENAI_BASE_URL: `${base}/v1`,
      OPENAI_API_BASE: `${base}/v1`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${base}/otlp`,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${base}/otlp/v1/traces`,
      C3_RECORD_SCORE: `${base}/score`,
    },
  });
  void pass.session.answer.promise.then(() => child.kill());
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

passing(async (session) => {
  await turn();
  // Nobody else on this machine can guess it.
  const name = randomUUID();
  const pass = { session, score: null };
  passes.set(name, pass);
  try {
    await run(pass, name);
    // What came out of a program that does not say is what was said last.
    const last = session.entries.findLast(({ kind }) => kind === 'message');
    return { text: last?.text ?? '', return: pass.score };
  } finally {
    passes.delete(name);
    giveTurn();
  }
});
