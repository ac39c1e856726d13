/** Texts that want to be more than text, wherever the window shows one. */
import { workbenchScenarios } from './harness/workbench.ts';
import { hostileTexts } from './hostile.ts';

hostileTexts(workbenchScenarios({ recording: 'arithmetic' }), { line: 1 << 16, reports: ['message'] });
