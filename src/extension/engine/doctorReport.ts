/** Formats the doctor's report as a plain document. */

import type { DoctorReport } from '../../shared/protocols/engineProtocol.ts';

/** Formats providers, versions and the store as aligned lines. */
export function formatDoctorReport(report: DoctorReport): string {
  const providers = report.providers.map(({ name, available, selfTest, batchInvariance, device }) => {
    const more = device === null ? null : `on ${device}; ${batchInvariance ?? 'batch invariance not measured'}`;
    return [name, available ? 'available' : 'not used', selfTest ?? 'self-test not run', more] as const;
  });
  const width = Math.max(0, ...providers.map(([name]) => name.length));
  const state = Math.max(0, ...providers.map(([, available]) => available.length));
  const versions = Object.entries(report.versions);
  const versionWidth = Math.max(0, ...versions.map(([name]) => name.length));
  return [
    'C3 doctor',
    '',
    'Providers',
    ...providers.flatMap(([name, available, test, more]) => [
      `  ${name.padEnd(width)}  ${available.padEnd(state)}  ${test}`,
      ...(more === null ? [] : [`  ${' '.repeat(width)}  ${' '.repeat(state)}  ${more}`]),
    ]),
    '',
    'Versions',
    ...versions.map(([name, version]) => `  ${name.padEnd(versionWidth)}  ${version}`),
    '',
    'Store',
    `  ${report.store.path}`,
    `  ${report.store.state}`,
    ...[...report.store.findings, report.store.extent].filter((line) => line !== '').map((line) => `  ${line}`),
    '',
  ].join('\n');
}
