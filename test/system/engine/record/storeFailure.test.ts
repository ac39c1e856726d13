/** A recording whose store is busy, or fails: what was taken in is not lost, and nobody is told that it is there. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { record } from '../../../../src/engine/record/recordProgram.ts';
import { Recording, type PassedCall, type RecordingPlace } from '../../../../src/engine/record/recording.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { onAbort } from '../../../../src/shared/cancellation.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';

const NEVER = new AbortController().signal;

interface Kept {
  readonly folder: string;
  readonly service: EngineService;
  /** The file beside the store; null where there is none. */
  readonly file: () => string | null;
}

function workplace(t: TestContext, store = 'c3.sqlite'): Kept {
  const folder = mkdtempSync(join(tmpdir(), 'c3-kept-'));
  const service = new EngineService(join(folder, store));
  t.after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const file = (): string | null => {
    const name = readdirSync(folder).find((one) => /^recording-[0-9a-f]+(?:\.spans)?\.jsonl$/u.test(one));
    return name === undefined ? null : join(folder, name);
  };
  return { folder, service, file };
}

const recordingIn = (place: RecordingPlace, folder: string, maskSecrets = false): Recording =>
  new Recording(place, { program: 'node team.mjs', folder, maskSecrets, right: null });

const call = (question: string, text: string, role: string | null = null): PassedCall => ({
  api: 'chat',
  episode: null,
  role,
  request: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: question }] }),
  answer: JSON.stringify({ choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'length' }] }),
  times: { start: null, seconds: null, firstTokenSeconds: null },
  otherwise: 'others',
});

/** A store that fails from its so-manieth piece of work on. */
const failingAfter = ({ service }: Kept, works: number): RecordingPlace => {
  let left = works;
  return {
    storePath: service.storePath,
    writing: (what, signal, work) =>
      left-- > 0
        ? service.writing(what, signal, work)
        : Promise.reject(new C3Error('store', 'The disk is full; free space.')),
  };
};

/** A store that another process holds until it is let go. */
function heldStore({ service }: Kept): { readonly place: RecordingPlace; readonly letGo: () => void } {
  const free = Promise.withResolvers<null>();
  return {
    letGo: () => free.resolve(null),
    place: {
      storePath: service.storePath,
      writing: async (what, signal, work) => {
        const given = Promise.withResolvers<null>();
        const release = onAbort(signal, () => given.reject(new CancelledError()));
        await Promise.race([free.promise, given.promise]).finally(release);
        return service.writing(what, signal, work);
      },
    },
  };
}

describe('a recording that cannot be stored', () => {
  it('fails with the file of what was not, which can be imported', async (t) => {
    const kept = workplace(t);
    const recording = recordingIn(failingAfter(kept, 1), kept.folder);
    await recording.take(call('First?', 'Stored.'));
    await recording.take(call('Second?', 'Kept.', 'planner'));
    await recording.take(call('Third?', 'Kept too.'));
    recording.score(null, 1);
    const file = kept.file() ?? '';
    await assert.rejects(recording.close(), {
      kind: 'store',
      message: `The recording is not stored completely: The disk is full; free space. The rest (2 calls) is in ${file}: once the store can be written, run c3 import ${file}. Lost: 1 score of episodes.`,
    });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const report = await kept.service.importLog({ path: file, maskSecrets: false }, NEVER);
    assert.deepEqual([report.episodes, report.messages, report.leftOut], [2, 2, {}]);
    assert.deepEqual(
      report.speakers.map(({ name }) => name),
      ['planner', 'agent 1'],
    );
    const texts = kept.service.reading((store) => [1, 2, 3].map((id) => store.message(id).text));
    assert.deepEqual(texts, ['Stored.', 'Kept.', 'Kept too.']);
  });

  it('leaves a run that is not done, where the store lets it', async (t) => {
    const kept = workplace(t);
    let [works, fails] = [0, true];
    const place: RecordingPlace = {
      storePath: kept.service.storePath,
      writing: (what, signal, work) => {
        works++;
        fails = works === 2;
        return fails ? Promise.reject(new Error('once')) : kept.service.writing(what, signal, work);
      },
    };
    const recording = recordingIn(place, kept.folder);
    await recording.take(call('First?', 'Stored.'));
    await recording.take(call('Second?', 'Kept.'));
    await assert.rejects(recording.close(), /once/u);
    assert.equal(
      kept.service.reading((store) => store.run(recording.run).status),
      'failed',
    );
  });

  it('keeps nothing that looks like a key where keys are masked', async (t) => {
    const kept = workplace(t);
    const key = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
    const recording = recordingIn(failingAfter(kept, 0), kept.folder, true);
    await recording.take(call(`With ${key}?`, `Yes, ${key}.`));
    await assert.rejects(recording.close(), /The rest \(1 call\) is in/u);
    assert.match(readFileSync(kept.file() ?? '', 'utf8'), /With sk-proj-\[masked\]\?.*Yes, sk-proj-\[masked\]\./u);
  });

  it('has its spans in the file too', async (t) => {
    const kept = workplace(t);
    const place = {
      ...failingAfter(kept, 0),
      importLog: () => Promise.reject(new C3Error('store', 'The disk is full; free space.')),
    };
    const program = `await fetch(process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"resourceSpans":\\n[]}',
    });`;
    const settings = {
      command: [process.execPath, '--input-type=module', '-e', program] as const,
      folder: kept.folder,
      maskSecrets: false,
      right: null,
      upstream: 'http://127.0.0.1:9/v1',
      served: null,
      quiet: true,
    };
    await assert.rejects(record(place, settings, NEVER), /The rest \(1 line\) is in/u);
    assert.equal(readFileSync(kept.file() ?? '', 'utf8'), '{"resourceSpans":[]}\n');
  });

  it('has its file elsewhere where the folder of the store cannot be made', async (t) => {
    const kept = workplace(t, 'file/c3.sqlite');
    writeFileSync(join(kept.folder, 'file'), '');
    const recording = recordingIn(kept.service, kept.folder);
    await recording.take(call('First?', 'Kept.'));
    const error: unknown = await recording.close().catch((thrown: unknown) => thrown);
    const [, path = ''] = /run c3 import (.*\.jsonl)\./u.exec(error instanceof C3Error ? error.message : '') ?? [];
    assert.match(readFileSync(path, 'utf8'), /"Kept\."/u);
    rmSync(dirname(path), { recursive: true });
  });
});

describe('a recording whose store another process holds', () => {
  it('lets the program go on, keeps what it says in a file, and removes that once all is stored', async (t) => {
    const kept = workplace(t);
    const { place, letGo } = heldStore(kept);
    const recording = recordingIn(place, kept.folder);
    await recording.take(call('First?', 'One.'));
    await recording.take(call('Second?', 'Two.'));
    assert.equal(
      readFileSync(kept.file() ?? '', 'utf8')
        .trim()
        .split('\n').length,
      2,
    );
    letGo();
    const { messages } = await recording.close();
    assert.deepEqual([messages, kept.file()], [2, null]);
  });

  it('says so once nobody waits anymore', async (t) => {
    const kept = workplace(t);
    const recording = recordingIn(heldStore(kept).place, kept.folder);
    void recording.take(call('First?', 'One.'));
    await assert.rejects(recording.close(AbortSignal.abort()), {
      code: 'storeHeld',
      message: /Another process wrote the store .*The rest \(1 call\) is in .*recording-\w+\.jsonl: once/u,
    });
    assert.ok(existsSync(kept.file() ?? ''));
  });
});
