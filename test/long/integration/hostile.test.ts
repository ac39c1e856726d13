/** Texts that want to be more than text, one of them a line of a million characters. */
import { hostileTexts } from '../../integration/hostile.ts';
import { workbenchScenarios } from '../../integration/harness/workbench.ts';

hostileTexts(workbenchScenarios({ recording: 'arithmetic' }), { line: 1 << 20, reports: ['run', 'message'] });
