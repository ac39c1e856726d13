/** What whoever sits at the terminal is asked, and what counts as a yes. */

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { it } from 'node:test';
import { askAtTerminal } from '../../../../src/engine/commandLine/askAtTerminal.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';

const WAIT = { server: 'api.example.com', milliseconds: 3_600_000 };

interface Asked {
  readonly decided: Promise<boolean>;
  readonly typed: PassThrough;
  readonly shown: () => string;
  readonly leave: () => void;
}

function asking(isTTY = true): Asked {
  const [typed, stderr] = [new PassThrough(), new PassThrough()];
  const leaving = new AbortController();
  const streams = {
    stdin: Object.assign(typed, { isTTY }),
    stdout: new PassThrough(),
    stderr: Object.assign(stderr, { isTTY }),
    areInherited: false,
    folder: '/',
    env: {},
    signal: leaving.signal,
  };
  const note = (line: string): void => {
    stderr.write(`${line}\n`);
  };
  return {
    decided: askAtTerminal({ streams, note, endProgress: () => stderr.write('\n') }, WAIT, leaving.signal),
    typed,
    shown: () => String(stderr.read() ?? ''),
    leave: () => {
      leaving.abort();
    },
  };
}

it('a long wait is waited for where somebody at a terminal says yes', async () => {
  for (const [answer, waits] of [
    ['y\n', true],
    [' YES \r\n', true],
    ['\n', false],
    ['no\n', false],
    ['yesterday\n', false],
  ] as const) {
    const { decided, typed, shown } = asking();
    typed.write(answer);
    assert.equal(await decided, waits, JSON.stringify(answer));
    assert.match(shown(), /^\napi\.example\.com asks to wait 3,600 s before it is asked again\. Wait\? \[y\/N\] /u);
  }
});

it('the end of the input is no yes, nobody is asked without a terminal, and a cancel ends the question', async () => {
  const ended = asking();
  ended.typed.end();
  assert.equal(await ended.decided, false);
  const apart = asking(false);
  apart.typed.write('y\n');
  assert.deepEqual([await apart.decided, apart.shown()], [false, '']);
  const left = asking();
  left.leave();
  await assert.rejects(left.decided, CancelledError);
});
