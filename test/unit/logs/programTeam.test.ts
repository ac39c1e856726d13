/** The team file of a program that is started again. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parse } from 'yaml';
import { writeProgramTeam } from '../../../src/logs/recordedEpisode.ts';

it('names the program, who answers and what scores, and has no key in it', () => {
  const command = ['node', 'my team.mjs', '--fast: yes'];
  assert.deepEqual(parse(writeProgramTeam({ command, answering: { serve: 'arithmetic' }, evaluator: 'auto' })), {
    program: command,
    serve: 'arithmetic',
    evaluator: 'auto',
  });
  const answering = { endpoint: 'http://127.0.0.1:8000/v1', model: 'm' };
  assert.deepEqual(parse(writeProgramTeam({ command, answering, evaluator: 'pattern' })), {
    program: command,
    policy: { endpoint: answering.endpoint, model_name: 'm' },
    evaluator: 'pattern',
  });
  const secret = ['node', 'team.mjs', 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'];
  assert.throws(() => writeProgramTeam({ command: secret, answering, evaluator: 'auto' }), {
    kind: 'input',
    message: /looks like a key/u,
  });
});
