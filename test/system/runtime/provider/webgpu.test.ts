/** Generation on a WebGPU device. */

import { generatesOnDevice, useDevice } from './onDevice.ts';

useDevice();
generatesOnDevice([7]);
