/** The team file that an assistant names: of the folder, agreed to with its command, and the one that is started. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { createMcpServer } from '../../../../src/engine/mcp/server.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { startAnsweringServer } from '../../../support/answeringServer.ts';

const SECRET = 'sk-proj-AbCdEfGhIjKlMnOpQrStUvWx0123456789';
const LOG = {
  messages: [
    { role: 'user', content: 'How many toys?' },
    { role: 'assistant', name: 'writer', content: '19 toys.' },
  ],
};
/** A driver that leaves a trace in its folder, and ends the episode or does not go on. */
const driver = (act: string): string =>
  `import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
writeFileSync('started', '');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, log } = JSON.parse(line);
  ${act}
});
`;
const ASKS = `const asks = { kind: 'message', role: 'writer', body: { messages: [{ role: 'user', content: 'How many toys?' }] } };
  console.log(JSON.stringify(log.length === 0 ? { id, next: asks } : { id, end: { text: 'Done.', return: 1 } }));`;
/** Who answers where nobody is asked. */
const POLICY = { endpoint: 'http://127.0.0.1:1/v1', model_name: 'm' };

interface Place {
  /** Beside `work`, the folder with the store. */
  readonly above: string;
  readonly work: string;
  readonly call: (team: string) => Promise<readonly [failed: boolean, text: string]>;
  /** What the user was asked. */
  readonly asked: readonly string[];
}

/** @param answer what the user does when asked; null for a client that cannot ask */
async function place(t: TestContext, answer: (() => 'accept' | 'decline') | null = () => 'accept'): Promise<Place> {
  const above = realpathSync(mkdtempSync(join(tmpdir(), 'c3-assistant-')));
  const work = join(above, 'work');
  mkdirSync(join(work, '.c3'), { recursive: true });
  const service = new EngineService(join(work, '.c3', 'c3.sqlite'));
  t.after(async () => {
    await service.close();
    rmSync(above, { recursive: true, force: true });
  });
  writeFileSync(join(work, 'log.json'), JSON.stringify(LOG));
  await service.importLog({ path: join(work, 'log.json'), maskSecrets: false }, new AbortController().signal);
  const url = await startAnsweringServer(t, (_body, _request, response) => {
    const choices = [{ message: { role: 'assistant', content: '20 toys.' }, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ model: 'm', choices }));
  });
  writeFileSync(join(work, 'driver.mjs'), driver(ASKS));
  const policy = { endpoint: url, model_name: 'm' };
  writeFileSync(join(work, 'team.yaml'), JSON.stringify({ driver: [process.execPath, 'driver.mjs'], policy }));
  const asked: string[] = [];
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: answer === null ? {} : { elicitation: {} } },
  );
  if (answer !== null) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: answer(), content: {} };
    });
  }
  const [here, there] = InMemoryTransport.createLinkedPair();
  await createMcpServer(service).connect(there);
  await client.connect(here);
  t.after(() => client.close());
  const answerSchema = z.object({
    isError: z.boolean().optional(),
    content: z.tuple([z.object({ text: z.string() })]),
  });
  const call: Place['call'] = async (team) => {
    const given = { message: 1, alternatives: 1, replays: 1, max_evaluator_calls: 9, confirm: true, team };
    const said = answerSchema.parse(await client.callTool({ name: 'replay_message', arguments: given }));
    return [said.isError === true, said.content[0].text];
  };
  return { above, work, call, asked };
}

describe('the team file that an assistant names', () => {
  it('is agreed to with the command that it starts, and then started', async (t) => {
    const { work, call, asked } = await place(t);
    const [failed, text] = await call('team.yaml');
    assert.equal(failed, false, text);
    const command = `${JSON.stringify(process.execPath)} "driver.mjs" in the folder ${JSON.stringify(work)}`;
    const words = `starts ${command}, which "team.yaml" names, and costs at most 2 evaluator calls`;
    assert.deepEqual([asked.length, asked[0]?.includes(words)], [1, true], asked.join());
    assert.ok(existsSync(join(work, 'started')));
  });

  it('is shown whatever its signs are, with those that are not seen as numbers', async (t) => {
    const { work, call, asked } = await place(t, () => 'decline');
    const program = ['node', 'a"b', 'x\u202Ey\u00A0z\n', '-e; rm'];
    writeFileSync(join(work, 'odd.yaml'), JSON.stringify({ program, policy: POLICY }));
    assert.match((await call('odd.yaml')).join(), /^true,The user did not agree/u);
    assert.match(asked.join(), /starts "node" "a\\"b" "x\\u\{202e\}y\\u\{a0\}z\\n" "-e; rm" in the folder/u);
    writeFileSync(join(work, 'odd.yaml'), JSON.stringify({ program: ['node', 'x'.repeat(3000)], policy: POLICY }));
    assert.match((await call('odd.yaml')).join(), /^true,The command of the team file is longer than the 2000 char/u);
    assert.equal(asked.length, 1);
  });

  it('is refused where it was changed between the question and the start', async (t) => {
    const changed: (() => void)[] = [];
    const { work, call, asked } = await place(t, () => {
      for (const change of changed) {
        change();
      }
      return 'accept';
    });
    writeFileSync(join(work, 'other.mjs'), driver(ASKS));
    changed.push(() =>
      writeFileSync(join(work, 'team.yaml'), JSON.stringify({ driver: ['node', 'other.mjs'], policy: POLICY })),
    );
    const [failed, text] = await call('team.yaml');
    assert.deepEqual([failed, asked.length], [true, 1]);
    assert.match(text, /team\.yaml was changed after the user was asked; nothing was started\. Ask again\.$/u);
    assert.ok(!existsSync(join(work, 'started')));
  });

  it('is of the folder, with its links followed: of another one nothing is said', async (t) => {
    const { above, work, call, asked } = await place(t);
    writeFileSync(join(above, 'there.yaml'), `${SECRET}: [`);
    symlinkSync(above, join(work, 'up'));
    symlinkSync(join(above, 'there.yaml'), join(work, 'there-link.yaml'));
    symlinkSync(join(above, 'none.yaml'), join(work, 'none-link.yaml'));
    const names = [
      ['../there.yaml', '../none.yaml'],
      [join(above, 'there.yaml'), join(above, 'none.yaml')],
      ['up/there.yaml', 'up/none.yaml'],
      ['there-link.yaml', 'none-link.yaml'],
      ['.', '..'],
      ['/etc/passwd', '/etc/no-such-file'],
    ] as const;
    for (const [there, none] of names) {
      const said = await Promise.all([call(there), call(none)]);
      for (const [index, name] of [there, none].entries()) {
        assert.deepEqual(said[index], [
          true,
          `team must be a file in the folder of this store, but ${JSON.stringify(name)} is not; nothing was replayed.`,
        ]);
      }
    }
    assert.deepEqual(asked, []);
  });

  it('says nothing of what is in a file that is no team file', async (t) => {
    const { work, call, asked } = await place(t);
    const texts = ['PASSWORD=hunter22 : [', 'hunter22: 1\n', '{driver: [hunter22, {hunter22: 1}]}', 'driver: hunter22'];
    for (const [index, text] of texts.entries()) {
      const name = `.env${index}`;
      writeFileSync(join(work, name), text);
      const refused = `${JSON.stringify(name)} cannot be read as a team file; nothing was replayed. c3 replay or c3 blame with --team FILE says what is wrong with it.`;
      assert.deepEqual(await call(name), [true, refused]);
    }
    assert.match((await call('missing.yaml')).join(), /^true,"missing\.yaml" cannot be read as a team file/u);
    assert.deepEqual(asked, []);
  });

  it('starts nothing where the client cannot ask, whose assistant does not see the command', async (t) => {
    const { work, call } = await place(t, null);
    const [failed, text] = await call('team.yaml');
    assert.equal(failed, true);
    assert.match(
      text,
      /starts the program that "team\.yaml" names, .*this client cannot ask the user whether that team/u,
    );
    assert.ok(!text.includes('driver.mjs') && !existsSync(join(work, 'started')));
  });

  it('has keys masked in what its program says when it fails', async (t) => {
    const { work, call } = await place(t);
    writeFileSync(
      join(work, 'driver.mjs'),
      driver(`console.log(JSON.stringify({ id, error: 'Incorrect API key provided: ${SECRET}' }));`),
    );
    const [failed, text] = await call('team.yaml');
    assert.equal(failed, true);
    assert.match(text, /Incorrect API key provided: sk-proj-\[masked\]/u);
    assert.ok(!text.includes(SECRET));
  });
});
