import { judge } from './bars';
import { Notebook } from './measure';
import { parseOptions } from './options';
import { placeBetweenMarks, render, table } from './report';

const PLACE = {
  machine: 'a machine',
  system: 'linux 6',
  node: 'v20',
  nginx: '1.22',
  commit: 'abc',
  date: '2026-01-01',
};

describe('render', () => {
  it('shows median, minimum and both ratios, and a dash where nothing was measured', () => {
    const notebook = new Notebook();
    for (const [nginx, gateway] of [
      [10, 30],
      [20, 40],
      [10, 35],
    ] as const) {
      notebook.note('json', 'nginx', 'cpuPerRequest', nginx);
      notebook.note('json', 'gateway', 'cpuPerRequest', gateway);
    }
    notebook.note('json', 'direct', 'cpuPerRequest', Number.NaN);
    const options = parseOptions(['--only', 'json']);
    const report = render(PLACE, options, notebook, judge(notebook, options.suites));
    const row = (variant: string): string[] =>
      report
        .split('\n')
        .find((line) => line.startsWith(`| ${variant} `))!
        .split('|')
        .map((cell) => cell.trim());
    expect(row('gateway')[2]).toBe('35.0 (30.0)');
    expect(row('gateway')[6]).toBe('3.00 (3.00)');
    expect(row('gateway')[7]).toBe('–');
    expect(row('direct')[2]).toBe('–');
    expect(report).toContain('pass');
  });
});

describe('placeBetweenMarks', () => {
  it('replaces what stands between the marks and keeps the rest, however often it runs', () => {
    const page = 'before\n<!-- load:begin -->\nold\n<!-- load:end -->\nafter\n';
    const once = placeBetweenMarks(page, 'new\n');
    expect(once).toContain('before\n<!-- load:begin -->\n\nnew\n\n<!-- load:end -->\nafter');
    expect(placeBetweenMarks(once, 'new\n')).toBe(once);
  });

  it('is the report alone for a file without marks', () => {
    expect(placeBetweenMarks('anything', 'new\n')).toBe('new\n');
  });
});

describe('table', () => {
  it('pads every column to its widest cell', () => {
    expect(
      table([
        ['a', 'long header'],
        ['wider cell', 'x'],
      ]),
    ).toEqual([
      '| a          | long header |',
      '| ---------- | ----------- |',
      '| wider cell | x           |',
    ]);
  });
});
