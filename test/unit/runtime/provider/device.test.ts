import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  offeredProviders,
  shortenProviderError,
  resolveDevice,
  type Probe,
  deviceName,
  parseDriverDescriptions,
} from '../../../../src/runtime/provider/device.ts';
import { processorName } from '../../../../src/runtime/session/session.ts';
import type { DeviceRequest, ProbeReport, Provider } from '../../../../src/shared/devices.ts';

const passing: ProbeReport = { passed: true, sentence: 'passed', invariance: null, name: 'a card', speedup: null };
const all: ReadonlySet<Provider> = new Set(['cpu', 'webgpu', 'cuda', 'dml', 'coreml']);

/** Resolves a request where providers report as given; the others have no device. */
async function resolved(
  request: DeviceRequest,
  reports: Partial<Record<Provider, Partial<ProbeReport>>>,
  bundled = all,
): Promise<{ provider: string; name: string; remark: string | null; probed: string[] }> {
  const probed: string[] = [];
  const probe: Probe = (provider, threads, timed) => {
    probed.push(`${provider} ${threads} ${String(timed)}`);
    return Promise.resolve({ ...passing, ...(reports[provider] ?? { passed: false, sentence: 'no adapter found' }) });
  };
  const { settings, remark } = await resolveDevice(request, 3, probe, bundled);
  assert.equal(settings.threads, 3);
  return { provider: settings.provider ?? '', name: settings.name ?? '', remark, probed };
}

describe('resolveDevice', () => {
  const cpu = { provider: 'cpu', name: processorName() };

  it('takes the CPU without a look at anything else', async () =>
    assert.deepEqual(await resolved('cpu', { webgpu: {} }), { ...cpu, remark: null, probed: [] }));

  it('takes what was asked for when it passes', async () => {
    assert.deepEqual(await resolved('webgpu', { webgpu: {} }), {
      provider: 'webgpu',
      name: 'a card',
      remark: null,
      probed: ['webgpu 3 false'],
    });
  });

  it('says why the CPU takes the place of what was asked for', async () => {
    assert.deepEqual(await resolved('webgpu', {}), {
      ...cpu,
      remark: 'WebGPU: no adapter found; the run computes on the CPU.',
      probed: ['webgpu 3 false'],
    });
    const absent = await resolved('coreml', {}, new Set<Provider>(['cpu']));
    assert.deepEqual(absent.probed, []);
    assert.match(absent.remark ?? '', /^CoreML: not available in this build \(\S+\); the run computes on the CPU\.$/);
  });

  it('auto takes the first accelerator that passes and is clearly faster', async () => {
    const chosen = await resolved('auto', { cuda: { speedup: 1.4 }, webgpu: { speedup: 1.5 }, dml: { speedup: 9 } });
    assert.deepEqual(chosen, {
      provider: 'webgpu',
      name: 'a card',
      remark: 'The run computes on WebGPU (a card).',
      probed: ['cuda 3 true', 'webgpu 3 true'],
    });
  });

  it('auto stays on the CPU where none is, and never asks for CoreML', async () => {
    const slow = await resolved('auto', { webgpu: { speedup: null }, coreml: { speedup: 9 } });
    assert.equal(slow.provider, 'cpu');
    assert.deepEqual(slow.probed, ['cuda 3 true', 'webgpu 3 true', 'dml 3 true']);
    assert.equal(
      slow.remark,
      'CUDA: no adapter found; WebGPU: not clearly faster than the CPU here; DirectML: no adapter found; the run computes on the CPU.',
    );
    assert.equal(
      (await resolved('auto', {}, new Set<Provider>(['cpu']))).remark,
      'No accelerator is available; the run computes on the CPU.',
    );
  });

  it('knows what the installed runtime offers on this platform', () => {
    const offered = offeredProviders();
    assert.ok(offered.has('cpu'));
    assert.equal(offered.has('dml'), process.platform === 'win32');
  });
});

it("makes a provider's words short", () => {
  assert.equal(
    shortenProviderError('x.cc:136 status was false. Failed to get a WebGPU adapter: No supported adapters'),
    'no adapter found',
  );
  assert.equal(
    shortenProviderError('OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library'),
    'its libraries are not installed',
  );
  assert.equal(shortenProviderError('two\n  lines'), 'two lines');
  assert.equal(shortenProviderError('x'.repeat(999)).length, 200);
});

describe('deviceName', () => {
  async function system(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
    const root = await mkdtemp(join(tmpdir(), 'c3-device-'));
    t.after(() => rm(root, { recursive: true, force: true }));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(root, path, '..'), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return root;
  }

  it('is what the system calls its graphics', async (t) => {
    const forced = process.env['VK_ICD_FILENAMES'];
    delete process.env['VK_ICD_FILENAMES'];
    t.after(() => {
      if (forced !== undefined) {
        process.env['VK_ICD_FILENAMES'] = forced;
      }
    });
    const cards = {
      'sys/class/drm/card0/device/vendor': '0x8086\n',
      'sys/class/drm/card0/device/device': '0x9a49\n',
      'sys/class/drm/card0-eDP-1/device/vendor': 'not a card',
    };
    assert.equal(await deviceName('webgpu', 'linux', await system(t, cards)), 'PCI 0x8086:0x9a49');
    const nvidia = {
      'proc/driver/nvidia/gpus/0000:01:00.0/information': 'Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   0\n',
    };
    assert.equal(await deviceName('cuda', 'linux', await system(t, { ...cards, ...nvidia })), 'NVIDIA H100 80GB HBM3');
    assert.equal(await deviceName('webgpu', 'linux', await system(t, {})), 'graphics adapter without a name');
    process.env['VK_ICD_FILENAMES'] = '/usr/lib/chromium/vk_swiftshader_icd.json';
    assert.equal(await deviceName('webgpu', 'linux', '/'), 'Vulkan driver vk_swiftshader_icd');
    delete process.env['VK_ICD_FILENAMES'];
  });

  it('is the processor on the CPU and where graphics are part of it', async () => {
    assert.equal(await deviceName('cpu', 'linux'), processorName());
    assert.equal(await deviceName('webgpu', 'darwin'), processorName());
  });

  it('is read from the registry of Windows', () => {
    const listing =
      '\r\nHKEY_LOCAL_MACHINE\\SYSTEM\\X\\0000\r\n    DriverDesc    REG_SZ    Intel(R) Iris(R) Xe Graphics\r\n\r\n    DriverDesc    REG_SZ    NVIDIA RTX A2000\r\n\r\nEnd of search: 2 match(es) found.\r\n';
    assert.deepEqual(parseDriverDescriptions(listing), ['Intel(R) Iris(R) Xe Graphics', 'NVIDIA RTX A2000']);
  });
});
