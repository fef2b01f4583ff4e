import { parseCommandLine } from '../parse-command-line';

function warningsOf(line: string): readonly string[] {
  const io = { env: {}, readFile: () => '' };
  const result = parseCommandLine(line.split(' '), io, { short: '', verbose: '' });
  if (result.kind !== 'run') throw new Error(JSON.stringify(result));
  return result.warnings;
}

describe('options that wait for another', () => {
  it.each([
    ['--priority-scheduler-config s.yaml', '--priority-scheduler-enabled'],
    ['--rate-limit-tokens-per-second 4', '--max-concurrent-requests 8'],
    ['--tenant-rate-limit-config l.yaml', '--tenant-rate-limit-enabled'],
    ['--postgres-db-url postgres://db/smg', '--history-backend postgres'],
    ['--redis-url redis://db', '--history-backend redis'],
  ])('%s warns unless there is %s', (given, needed) => {
    const [flag = ''] = given.split(' ');
    const [needs = ''] = needed.split(' ');

    expect(warningsOf(given)).toEqual([
      expect.stringContaining(`${flag} has no effect without ${needs}`),
    ]);
    expect(warningsOf(`${given} ${needed}`)).toEqual([]);
  });

  it('say nothing when they are not given', () => {
    expect(warningsOf('--policy random')).toEqual([]);
  });

  it('never show the secret', () => {
    expect(warningsOf('--redis-url redis://:hunter2@db').join()).not.toContain('hunter2');
  });
});
