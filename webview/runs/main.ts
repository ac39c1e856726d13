/** Entry point of the page with the runs table. */

import '../common/common.css';
import '../common/heads.css';
import './style.css';
import { byId } from '../common/dom.ts';
import { editorHost } from '../common/host.ts';
import { RunsTablePanel } from './panel.ts';

new RunsTablePanel(byId('app'), editorHost());
