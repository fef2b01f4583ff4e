import { judge } from './bars';
import { Notebook } from './measure';

function measured(nginx: number[], gateway: number[]): Notebook {
  const notebook = new Notebook();
  for (const value of nginx) notebook.note('json', 'nginx', 'cpuPerRequest', value);
  for (const value of gateway) notebook.note('json', 'gateway', 'cpuPerRequest', value);
  return notebook;
}

describe('judge', () => {
  it('passes on the bar and misses above it', () => {
    expect(judge(measured([20, 20], [80, 80]), ['json'])[0]).toMatchObject({ word: 'pass' });
    expect(judge(measured([20, 20], [81, 81]), ['json'])[0]).toMatchObject({ word: 'miss' });
  });

  it('never calls something passed that was not measured', () => {
    expect(judge(measured([], [10]), ['json'])[0]).toMatchObject({ word: 'not measured' });
    expect(judge(measured([10], []), ['json'])[0]).toMatchObject({ word: 'not measured' });
  });

  it('compares the gateway with RL to the gateway without, round by round', () => {
    const notebook = measured([20, 20], [60, 90]);
    for (const value of [66, 108]) notebook.note('json', 'gateway-rl', 'cpuPerRequest', value);
    const verdict = judge(notebook, ['json']).find(({ bar }) => bar.of === 'gateway-rl');
    expect(verdict?.value).toBeCloseTo(1.15);
    expect(verdict).toMatchObject({ word: 'pass' });
  });

  it('compares policies by what each costs when nothing disturbs it', () => {
    const notebook = new Notebook();
    for (const value of [40, 80]) {
      notebook.note('policies', 'round-robin', 'cpuPerRequest', value);
      notebook.note('policies', 'cache-aware', 'cpuPerRequest', 132 - value);
    }
    const [verdict] = judge(notebook, ['policies']);
    expect(verdict?.value).toBeCloseTo(1.3);
    expect(verdict).toMatchObject({ word: 'pass' });
  });

  it('judges only the suites that ran', () => {
    const suites = judge(new Notebook(), ['sse', 'startup']).map((verdict) => verdict.bar.suite);
    expect(new Set(suites)).toEqual(new Set(['sse', 'startup']));
  });
});
