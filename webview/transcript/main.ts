/** Entry point of the transcript page. */

import '../common/common.css';
import '../common/term.css';
import '../common/rows.css';
import './style.css';
import './tree.css';
import './comparison.css';
import './detail.css';
import './why.css';
import './replays.css';
import '../common/keySheet.css';
import './keys.css';
import './chrome.css';
import { byId } from '../common/dom.ts';
import { editorHost } from '../common/host.ts';
import { loadMathematicsBeside } from './message/formulas.ts';
import { TranscriptPanel } from './panel.ts';

new TranscriptPanel(byId('app'), editorHost(), loadMathematicsBeside(document.currentScript));
