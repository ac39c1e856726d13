/**
 * Selects the environment of an engine: only the variables that are listed here. An editor's own
 * environment can change the started program (NODE_OPTIONS, LD_PRELOAD, ELECTRON_*) and holds
 * unrelated data (tokens, proxies).
 */

const NAMES: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'TEMP',
  'TMP',
  // Without these Windows starts hardly any program.
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMDATA',
  'ALLUSERSPROFILE',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'COMMONPROGRAMFILES',
  'USERPROFILE',
  'USERNAME',
  'USERDOMAIN',
  'HOMEDRIVE',
  'HOMEPATH',
  'NUMBER_OF_PROCESSORS',
  'PROCESSOR_ARCHITECTURE',
  'PROCESSOR_IDENTIFIER',
  // Selection of accelerators and their drivers.
  'VK_DRIVER_FILES',
  'VK_ICD_FILENAMES',
  'VK_ADD_DRIVER_FILES',
  'VK_LOADER_DRIVERS_SELECT',
  'VK_LOADER_DRIVERS_DISABLE',
  'VK_LOADER_DEVICE_SELECT',
  'MESA_VK_DEVICE_SELECT',
  'DRI_PRIME',
  'CUDA_VISIBLE_DEVICES',
  'CUDA_DEVICE_ORDER',
  'NVIDIA_VISIBLE_DEVICES',
  'NVIDIA_DRIVER_CAPABILITIES',
  'HIP_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  '__NV_PRIME_RENDER_OFFLOAD',
]);
const PREFIXES: readonly string[] = ['LC_', 'XDG_', 'C3_'];

/**
 * Returns the given variables that an engine gets, and the one that makes an editor's program run
 * as Node. On Windows, the case of names does not matter.
 */
export function engineEnvironment(
  env: Readonly<NodeJS.ProcessEnv>,
  platform: NodeJS.Platform = process.platform,
): NodeJS.ProcessEnv {
  const allowed = (given: string): boolean => {
    const name = platform === 'win32' ? given.toUpperCase() : given;
    return NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
  };
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => allowed(name))), ELECTRON_RUN_AS_NODE: '1' };
}
