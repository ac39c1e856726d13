/** Where a run may compute. */

/** Execution providers by ONNX Runtime's names. */
export const PROVIDERS = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** What a configuration may ask for: a provider, or the first accelerator that is exact and faster than the CPU. */
export const DEVICE_REQUESTS = ['auto', ...PROVIDERS] as const;
export type DeviceRequest = (typeof DEVICE_REQUESTS)[number];

/** What weights that are not trained are held in; what is trained is always float32. */
export const PRECISIONS = ['float32', 'float16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** As people write them. */
export const PROVIDER_TITLES: Readonly<Record<Provider, string>> = { cpu: 'CPU', webgpu: 'WebGPU', cuda: 'CUDA', dml: 'DirectML', coreml: 'CoreML' };

/** What examining a provider in a process of its own showed. */
export interface ProbeReport {
  /** True where its results can be trusted. */
  readonly passed: boolean;
  /** One sentence without a full stop: what agreed and how closely, or what went wrong. */
  readonly sentence: string;
  /** Whether a row depends on the rows beside it, in one sentence; null where that was not measured. */
  readonly invariance: string | null;
  /** The device's name for the numeric environment. */
  readonly name: string;
  /** How many times faster than the CPU it did the same work; null where it was slower, its self-test failed, or nobody asked. */
  readonly speedup: number | null;
}
