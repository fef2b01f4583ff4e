/**
 * Microseconds of the machine's monotonic clock: the same clock in every process, so a time stamp
 * that the backend writes can be compared in the load generator.
 */
export function nowMicros(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e6 + nanos / 1e3;
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
