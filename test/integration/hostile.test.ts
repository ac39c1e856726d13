/** Texts that want to be more than text, in the side bar and in the transcript. */
import { workbenchScenarios } from './harness/workbench.ts';
import { hostileTexts } from './hostile.ts';

hostileTexts(workbenchScenarios({ recording: 'arithmetic' }), { everywhere: false, line: 1 << 16 });
