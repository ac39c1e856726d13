/** A program that a window records has the window's server and environment, and nothing of the editor's or ours. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  describeAnsweringServers,
  createRecordRequest,
  describeUsualServer,
} from '../../../../src/extension/sharing/recordRequest.ts';

const ASKED = {
  command: ['node', 'team.mjs'],
  folder: '/work',
  upstream: null,
  serve: null,
  right: null,
  maskSecrets: true,
} as const;
const WINDOW = {
  PATH: '/bin',
  OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1',
  OPENAI_API_KEY: 'the program reads it',
  VSCODE_PID: '7',
  ELECTRON_RUN_AS_NODE: '1',
  C3_KEY_API_EXAMPLE_COM: 'ours',
  C3_ENGINE_IDLE_SECONDS: '1',
  NOTHING: undefined,
};

describe('the request for a program', () => {
  it('names the server of the window, and has its environment', () => {
    assert.deepEqual(createRecordRequest(ASKED, WINDOW), {
      ...ASKED,
      upstream: 'http://127.0.0.1:8000/v1',
      env: {
        PATH: '/bin',
        OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1',
        OPENAI_API_KEY: 'the program reads it',
        C3_ENGINE_IDLE_SECONDS: '1',
      },
    });
  });

  it('names the usual server where the window has none, or an empty one', () => {
    for (const env of [{}, { OPENAI_BASE_URL: ' ' }]) {
      assert.equal(createRecordRequest(ASKED, env).upstream, 'https://api.openai.com/v1');
    }
  });

  it('names what the user typed, and no server where a model is served', () => {
    const typed = { ...ASKED, upstream: 'https://models.example/v1' };
    assert.equal(createRecordRequest(typed, WINDOW).upstream, 'https://models.example/v1');
    assert.equal(createRecordRequest({ ...ASKED, serve: 'arithmetic' }, WINDOW).upstream, null);
  });
});

describe('before a program starts', () => {
  it('where its calls go is said, with the reason', () => {
    assert.equal(describeUsualServer(WINDOW), 'http://127.0.0.1:8000/v1, as OPENAI_BASE_URL of this window says.');
    assert.equal(describeUsualServer({}), 'https://api.openai.com/v1, since this window has no OPENAI_BASE_URL.');
    const anthropic = 'those of Anthropic’s clients to https://api.anthropic.com';
    assert.equal(
      describeAnsweringServers(createRecordRequest(ASKED, WINDOW)),
      `its calls go to http://127.0.0.1:8000/v1, ${anthropic}`,
    );
    const others = {
      ...WINDOW,
      ANTHROPIC_BASE_URL: 'https://a.example/x',
      AZURE_OPENAI_ENDPOINT: 'https://z.example/',
    };
    assert.equal(
      describeAnsweringServers(createRecordRequest(ASKED, others)),
      'its calls go to http://127.0.0.1:8000/v1, those of Anthropic’s clients to https://a.example/x, those of Azure’s clients to https://z.example',
    );
    const serve = 'arithmetic';
    assert.equal(
      describeAnsweringServers(createRecordRequest({ ...ASKED, serve }, WINDOW)),
      `the team for arithmetic answers on this machine, ${anthropic}`,
    );
  });

  it('no secret of an address is shown', () => {
    const env = { OPENAI_BASE_URL: 'https://me:secret@models.example/v1?key=secret' };
    assert.equal(
      describeAnsweringServers(createRecordRequest(ASKED, env)),
      'its calls go to https://models.example/v1, those of Anthropic’s clients to https://api.anthropic.com',
    );
    assert.equal(createRecordRequest(ASKED, env).upstream, env.OPENAI_BASE_URL);
  });
});
