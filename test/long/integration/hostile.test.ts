/**
 * Texts that want to be more than text, wherever the window shows one; one of them is a line of a million
 * characters.
 */

import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { hostileTexts } from '../../integration/hostile.ts';

hostileTexts(workbenchScenarios({ recording: 'arithmetic' }), { everywhere: true, line: 1 << 20 });
