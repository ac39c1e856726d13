/** Devices that a run may use. */

/**
 * The traits of an execution provider. Each provider is one row of PROVIDER_TRAITS; no other code
 * depends on its name.
 */
export interface ProviderTraits {
  /** The usual spelling of its name. */
  readonly title: string;
  /** Its description and platforms, for the help of configurations. */
  readonly words: string;
  /** False for the CPU, which has no memory of its own and is the reference for every other provider. */
  readonly accelerator: boolean;
  /** Its rank among the providers that `auto` tries, the lowest first; null if `auto` never uses it. */
  readonly automatic: number | null;
  /** The memory that keeps outputs between calls, by ONNX Runtime's name; null if each call returns them. */
  readonly keptOutputs: 'gpu-buffer' | null;
  /** Float16 weights are widened before each product, or products are computed in float16. */
  readonly halves: 'widened' | 'computed';
  /** True if the environment's Vulkan drivers select the device and give its name. */
  readonly vulkan: boolean;
  /** The program that reports the memory of its device, or null if there is none. */
  readonly memoryProgram: 'nvidia-smi' | null;
}

/** Execution providers by ONNX Runtime's names, in the order in which they are listed. */
export const PROVIDER_TRAITS = {
  cpu: {
    title: 'CPU',
    words: 'The CPU, which every machine has.',
    accelerator: false,
    automatic: null,
    keptOutputs: null,
    halves: 'widened',
    vulkan: false,
    memoryProgram: null,
  },
  webgpu: {
    title: 'WebGPU',
    words: 'WebGPU: graphics cards, on Linux x64, Windows and macOS.',
    accelerator: true,
    automatic: 2,
    keptOutputs: 'gpu-buffer',
    halves: 'computed',
    vulkan: true,
    memoryProgram: 'nvidia-smi',
  },
  cuda: {
    title: 'CUDA',
    words: 'CUDA: NVIDIA cards, on Linux x64, with libraries that are installed separately.',
    accelerator: true,
    automatic: 1,
    keptOutputs: null,
    halves: 'computed',
    vulkan: false,
    memoryProgram: 'nvidia-smi',
  },
  dml: {
    title: 'DirectML',
    words: 'DirectML: graphics cards, on Windows.',
    accelerator: true,
    automatic: 3,
    keptOutputs: null,
    halves: 'computed',
    vulkan: false,
    memoryProgram: null,
  },
  // `auto` never uses it: it compiles fixed shapes, and lengths vary here, so that nearly
  // everything would run on the CPU.
  coreml: {
    title: 'CoreML',
    words: 'CoreML: on macOS.',
    accelerator: true,
    automatic: null,
    keptOutputs: null,
    halves: 'computed',
    vulkan: false,
    memoryProgram: null,
  },
} as const satisfies Readonly<Record<string, ProviderTraits>>;

export type Provider = keyof typeof PROVIDER_TRAITS;
const isProvider = (name: string): name is Provider => Object.hasOwn(PROVIDER_TRAITS, name);
export const PROVIDERS: readonly Provider[] = Object.keys(PROVIDER_TRAITS).filter(isProvider);

/** The provider that computes graphs by default. */
export const DEFAULT_PROVIDER: Provider = 'cpu';

/** Returns the traits of a device's provider. */
export const findTraits = ({
  provider = DEFAULT_PROVIDER,
}: {
  readonly provider?: Provider | undefined;
}): ProviderTraits => PROVIDER_TRAITS[provider];

/** Accelerators that `auto` tries, in this order. */
export const AUTOMATIC_PROVIDERS: readonly Provider[] = PROVIDERS.filter(
  (provider) => PROVIDER_TRAITS[provider].automatic !== null,
).sort((a, b) => (PROVIDER_TRAITS[a].automatic ?? 0) - (PROVIDER_TRAITS[b].automatic ?? 0));

/** The request for the first accelerator that is exact and faster than the CPU. */
export const AUTOMATIC = 'auto';
export type DeviceRequest = Provider | typeof AUTOMATIC;
/** The devices that a configuration may ask for, with their descriptions. */
export const DEVICE_CHOICES: readonly { readonly name: DeviceRequest; readonly words: string }[] = [
  { name: AUTOMATIC, words: 'The first accelerator that is exact and faster than the CPU.' },
  ...PROVIDERS.map((name) => ({ name, words: PROVIDER_TRAITS[name].words })),
];
export const DEVICE_REQUESTS: readonly DeviceRequest[] = DEVICE_CHOICES.map(({ name }) => name);

/** Returns true if a request is for the default provider alone, so that no provider has to be tried. */
export const isDefaultRequest = (request: DeviceRequest): boolean => request === DEFAULT_PROVIDER;

/** Precision of weights that are not trained. Trained weights are always float32. */
export const PRECISIONS = ['float32', 'float16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** The result of examining a provider in its own process. */
export interface ProbeReport {
  /** True if its results can be trusted. */
  readonly passed: boolean;
  /** One sentence without a full stop: what agreed and how closely, or what failed. */
  readonly sentence: string;
  /** One sentence on the dependence of a row on the rows of its batch; null if it was not measured. */
  readonly invariance: string | null;
  /** The device's name for the numeric environment. */
  readonly name: string;
  /**
   * Speed relative to the CPU for the same work; null if it was slower, its self-test failed, or the
   * speed was not requested.
   */
  readonly speedup: number | null;
}
