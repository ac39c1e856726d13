/** Training that breaks at every place and is resumed. */

import { resumedAnywhere } from '../../../system/training/resumedAnywhere.ts';

resumedAnywhere(1);
