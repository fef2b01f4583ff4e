import { type Axis, barChart, lineChart, ticksOf } from './svg';

const AXIS: Axis = { label: 'share', least: 0, most: 1, format: (value) => value.toFixed(1) };

/** Elements of a document that opens and closes each of its tags. */
function elements(svg: string, name: string): string[] {
  return [...svg.matchAll(new RegExp(`<${name}\\b[^>]*>`, 'g'))].map(([found]) => found);
}

function assertWellFormed(svg: string): void {
  const open: string[] = [];
  for (const [, slash, name, empty] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (slash === '/') expect(open.pop()).toBe(name);
    else if (empty !== '/') open.push(name!);
  }
  expect(open).toEqual([]);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
}

describe('plots', () => {
  it('draws a bar per value, as long as the value, and none for what is missing', () => {
    const svg = barChart({
      title: 'a < b & "c"',
      axis: AXIS,
      series: ['one', 'two'],
      rows: [
        { name: 'x', values: [0.5, 1] },
        { name: 'y', values: [Number.NaN, 7] },
      ],
    });
    assertWellFormed(svg);
    expect(svg).toContain('a &lt; b &amp; &quot;c&quot;');
    const widths = elements(svg, 'rect')
      .filter((rect) => rect.includes('height="8"'))
      .map((rect) => Number(/width="([\d.]+)"/.exec(rect)?.[1]));
    expect(widths).toHaveLength(3);
    expect(widths[1]).toBe(2 * widths[0]!);
    // Beyond the axis it ends there, and says so.
    expect(widths[2]).toBe(widths[1]);
    expect(svg).toContain('7.0 →');
  });

  it('interrupts a line where there is no value', () => {
    const svg = lineChart({
      title: 'lines',
      x: { ...AXIS, most: 10 },
      y: AXIS,
      series: [
        {
          name: 'a',
          points: [
            [0, 0],
            [1, null],
            [2, 1],
            [3, 1],
          ],
        },
      ],
      band: { from: 4, to: 6, label: 'here' },
    });
    assertWellFormed(svg);
    const [path] = elements(svg, 'path');
    expect(path!.match(/M/g)).toHaveLength(2);
    expect(path!.match(/L/g)).toHaveLength(1);
  });

  it('has round values on its axes', () => {
    expect(ticksOf(AXIS).map((tick) => Math.round(tick * 10) / 10)).toEqual([
      0, 0.2, 0.4, 0.6, 0.8, 1,
    ]);
    expect(ticksOf({ ...AXIS, least: 50, most: 10_000, isLog: true })).toEqual([
      100, 1_000, 10_000,
    ]);
  });
});
