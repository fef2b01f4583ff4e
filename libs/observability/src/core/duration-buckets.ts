/** Default bounds of duration histograms, in seconds (SMG contract, "Prometheus"). */
export const DURATION_BUCKETS: readonly number[] = Object.freeze([
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 45, 60, 90, 120, 180, 240,
  300, 480, 900, 1200, 1800, 2700, 3600, 5400, 7200,
]);
