/** What the dashboard's page may ask about: runs that it was told of. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DashboardSession } from '../../../../src/extension/dashboard/dashboardSession.ts';
import type { DASHBOARD_PANEL, DashboardFromHost } from '../../../../src/shared/protocols/dashboardProtocol.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { addRun, RUN, temporaryStore } from '../storeFixture.ts';
import { PageInHand } from '../webview/pageInHand.ts';

it('a change is asked for with the run and the role that lost most, and of no other run', async (t) => {
  const place = temporaryStore();
  t.after(() => place.remove());
  addRun(place.writer);
  const reader = openStoreForReading(place.path);
  t.after(() => reader.close());
  const asked: unknown[] = [];
  const page = new PageInHand<typeof DASHBOARD_PANEL, DashboardFromHost>();
  const done = (): Promise<void> => Promise.resolve();
  const session = new DashboardSession({ run: null, compared: null }, page, {
    reader: () => reader,
    current: () => null,
    isBeingWritten: () => false,
    lossesOf: () => null,
    findLosses: done,
    tryChange: (...given) => {
      asked.push(given);
      return done();
    },
    showRound: done,
    openMessage: () => undefined,
    copy: done,
    confirmed: () => Promise.resolve(true),
    command: done,
  });
  t.after(() => session.dispose());
  await page.send(session, { type: 'tryChange', run: RUN, role: 'reasoner' });
  assert.deepEqual(asked, []);
  await page.send(session, { type: 'ready' });
  await page.send(session, { type: 'tryChange', run: RUN, role: 'reasoner' });
  await page.send(session, { type: 'tryChange', run: 'another', role: 'reasoner' });
  assert.deepEqual([asked, page.failures], [[[RUN, 'reasoner']], []]);
});
