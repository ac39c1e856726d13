/** The run dashboard in a real VS Code: pictures of charts, and the keyboard alone. */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { choose, heard, openDashboard, seePoints, takeOff, withMade } from '../../integration/dashboardPanel.ts';
import { addMadeRun } from '../../integration/dashboardStore.ts';
import { workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { assertQuiet, hasFocus, tabTo } from '../../integration/team.ts';

const scenario = workbenchScenarios();

/** The dashboard with one of two runs of 30 steps alone. */
async function openKeys(workbench: Workbench): Promise<FrameLocator> {
  await withMade(workbench, (store) => {
    if (!store.runs(0, 100).some(({ id }) => id === 'under')) {
      addMadeRun(store, { id: 'under', title: 'Keys under', seed: 5, steps: 30, accuracy: [0.5, 0.6] });
      addMadeRun(store, { id: 'over', title: 'Keys over', method: 'magrpo', seed: 6, steps: 30, accuracy: [0.5, 0.6] });
    }
  });
  await workbench.openView('C3');
  await workbench.runCommand('C3: Refresh');
  const dashboard = await openDashboard(workbench);
  await choose(workbench, dashboard, 'Run', 'Keys under');
  await takeOff(dashboard);
  await seePoints(dashboard, 'Mean return', 30);
  return dashboard;
}

scenario('a chart is copied as a picture with its title on the background of the theme', async (workbench) => {
  await workbench.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const dashboard = await openKeys(workbench);
  await dashboard.getByRole('button', { name: 'Copy Mean return as PNG' }).click();
  await heard(dashboard, /Mean return: copied as PNG/u);
  const size = await workbench.page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    const bitmap = item === undefined ? null : await createImageBitmap(await item.getType('image/png'));
    if (bitmap === null) {
      return null;
    }
    const canvas = document.createElement('canvas');
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    const context = canvas.getContext('2d');
    context?.drawImage(bitmap, 0, 0);
    const pixels = context?.getImageData(0, 0, bitmap.width, bitmap.height).data ?? [];
    const colours = new Set<string>();
    for (let index = 0; index < pixels.length; index += 4) {
      colours.add(
        `${String(pixels[index])},${String(pixels[index + 1])},${String(pixels[index + 2])},${String(pixels[index + 3])}`,
      );
    }
    return { width: bitmap.width, height: bitmap.height, corner: [...pixels.slice(0, 4)], colours: colours.size };
  });
  assert.ok(size !== null && size.width > 600 && size.height > 400, JSON.stringify(size));
  assert.deepEqual(size.corner, [31, 31, 31, 255], 'the editor background of Dark Modern');
  assert.ok(size.colours > 20, 'something is drawn on it');
});

scenario('by keyboard alone a run is laid over another, and taken off again', async (workbench) => {
  const dashboard = await openKeys(workbench);
  const picker = dashboard.locator('.picker > summary');
  const { keyboard } = workbench.page;
  await tabTo(workbench, picker);
  await keyboard.press('Enter');
  const box = dashboard.getByRole('checkbox', { name: /Keys over/u });
  await tabTo(workbench, box);
  await keyboard.press('Space');
  const legend = dashboard.getByRole('list', { name: 'Runs in the charts' });
  await legend.getByRole('listitem').filter({ hasText: 'Keys over' }).waitFor();
  assert.ok(await hasFocus(box), 'the keyboard stays on the box');
  await keyboard.press('Escape');
  await box.waitFor({ state: 'hidden' });
  assert.ok(await hasFocus(picker), 'Escape closes the list and stays at it');
  await tabTo(workbench, legend.getByRole('button', { name: 'Remove run B' }));
  await keyboard.press('Enter');
  await legend.waitFor({ state: 'hidden' });
  await dashboard.getByText('Compare runs', { exact: true }).waitFor();
  assertQuiet(workbench);
});
