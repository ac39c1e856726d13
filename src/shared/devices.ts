/** Where a run may compute. */

/**
 * What sets an execution provider apart. A provider is one row of PROVIDER_TRAITS: nothing else decides by its name.
 */
export interface ProviderTraits {
  /** As people write it. */
  readonly title: string;
  /** What it is and where there is it, for the help of configurations. */
  readonly words: string;
  /**
   * False for the processor itself, which has no memory of its own, and which every other provider is compared with.
   */
  readonly accelerator: boolean;
  /** Its rank among those that `auto` tries, the lowest first; null where `auto` never takes it. */
  readonly automatic: number | null;
  /** Where outputs can stay between calls, by ONNX Runtime's name; null where each call gives them back. */
  readonly keptOutputs: 'gpu-buffer' | null;
  /** What becomes of float16 weights: they are widened before each product, or products are computed in float16. */
  readonly halves: 'widened' | 'computed';
  /** What the environment's Vulkan drivers decide: where they are named, they name the device. */
  readonly vulkan: boolean;
  /** The program that reports how much memory its device has; null where nothing does. */
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
  // Never taken by `auto`: it compiles fixed shapes, and lengths vary here, so nearly everything would run on the CPU
  // beside it.
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

/** Where graphs compute unless something else is said. */
export const DEFAULT_PROVIDER: Provider = 'cpu';

/** The traits of a device's provider. */
export const traitsOf = ({
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
/** What a configuration may ask for, with its words. */
export const DEVICE_CHOICES: readonly { readonly name: DeviceRequest; readonly words: string }[] = [
  { name: AUTOMATIC, words: 'The first accelerator that is exact and faster than the CPU.' },
  ...PROVIDERS.map((name) => ({ name, words: PROVIDER_TRAITS[name].words })),
];
export const DEVICE_REQUESTS: readonly DeviceRequest[] = DEVICE_CHOICES.map(({ name }) => name);

/** Whether a request is for the default provider alone, so that nothing has to be tried to know where it computes. */
export const isDefaultRequest = (request: DeviceRequest): boolean => request === DEFAULT_PROVIDER;

/** What weights that are not trained are held in; what is trained is always float32. */
export const PRECISIONS = ['float32', 'float16'] as const;
export type Precision = (typeof PRECISIONS)[number];

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
  /**
   * How many times faster than the CPU it did the same work; null where it was slower, its self-test failed, or nobody
   * asked.
   */
  readonly speedup: number | null;
}
