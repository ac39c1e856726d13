import assert from 'node:assert/strict';
import { it } from 'node:test';
import { summarizeCertificates } from '../../../src/diagnostics/certified.ts';

it('counts what certificates said, and compares them with what was measured', () => {
  const steps = [
    { certificate: 0.1, vacuousCertificate: 0, comparedCertificate: 0.05, measuredImprovement: 0.2 },
    { certificate: -0.5, vacuousCertificate: 0, comparedCertificate: -0.3, measuredImprovement: 0 },
    // Not sampled again, and from before there were certificates.
    { certificate: -9, vacuousCertificate: 1 },
    { certificate: -3, vacuousCertificate: 1, comparedCertificate: -0.4, measuredImprovement: -0.5 },
    {},
  ];
  const { rankCorrelation, ...counted } = summarizeCertificates(steps) ?? assert.fail();
  assert.ok(Math.abs((rankCorrelation ?? NaN) - 1) < 1e-12);
  assert.deepEqual(counted, {
    steps: 4,
    positive: 1,
    vacuous: 2,
    newest: { value: -3, vacuous: true },
    compared: 3,
    violations: 1,
    violationRate: 1 / 3,
  });
  assert.equal(summarizeCertificates([{}, {}]), null);
  const alone = summarizeCertificates([{ certificate: 0, vacuousCertificate: 0 }]);
  assert.deepEqual([alone?.compared, alone?.violationRate, alone?.rankCorrelation], [0, null, null]);
});
