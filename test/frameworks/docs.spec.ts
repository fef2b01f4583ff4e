import { splitFences, filesBelow, textOf } from '../contract/support/pages';
import { GuideShell, patternOf, stepsOf } from '../e2e/support/guide-shell';
import { send } from '../support/http';
import { freePorts, startProgram } from '../support/program';

const PAGES = filesBelow('docs/frameworks', '.md').filter((page) => !page.endsWith('index.md'));

/** Text of a section, up to the next of its level. */
function sectionOf(page: string, heading: string): string {
  const [, after] = textOf(page).split(`## ${heading}\n`);
  if (after === undefined) throw new Error(`${page} has no section ${heading}`);
  return after.split(/^## /m)[0] ?? '';
}

/** Arguments of the launch command of a page. */
function launchOf(page: string): string[] {
  const [command = ''] = splitFences(sectionOf(page, 'Launch')).blocks;
  const words = command.replaceAll('\\\n', ' ').trim().split(/\s+/);
  expect(words.slice(0, 2)).toEqual(['smg', 'launch']);
  return words.slice(2);
}

/** For a test: it chooses where to listen, and no engine is anywhere but on this machine. */
function onLoopback(argv: readonly string[]): string[] {
  const place = ['--host', '--port'];
  return argv
    .filter((word, at) => !place.includes(word) && !place.includes(argv[at - 1] ?? ''))
    .map((word) => word.replace(/^http:\/\/10\.0\.0\.\d+:\d+$/, 'http://127.0.0.1:1'))
    .filter((word, at, all) => !word.startsWith('http') || all.indexOf(word) === at);
}

/** Targets of warnings that this start is bound to give: no keys, nobody at the URLs. */
const EXPECTED_WARNINGS = ['smg::auth', 'smg::registry'];

describe('pages of frameworks', () => {
  it('there is one for each', () => {
    expect(PAGES.map((page) => page.split('/').at(-1))).toEqual([
      'areal.md',
      'miles.md',
      'nemo-rl.md',
      'prime-rl.md',
      'rllm.md',
      'skyrl.md',
      'slime.md',
      'verl.md',
      'vime.md',
    ]);
  });

  it.each(PAGES)('%s: has every section', (page) => {
    const headings = [...textOf(page).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Launch', 'What changes', 'Not supported', 'Try it without a GPU']);
  });

  it.each(PAGES)(
    '%s: the launch profile starts a gateway',
    async (page) => {
      const program = await startProgram(onLoopback(launchOf(page)));
      try {
        expect((await send(`${program.url}/liveness`)).status).toBe(200);
        expect((await send(`${program.url}/v1/rl/workers`)).status).toBe(200);
      } finally {
        await program.kill();
      }
      const lines = program.output().split('\n').filter(Boolean);
      const warnings = lines
        .map((line) => JSON.parse(line) as { level: string; target: string })
        .filter(({ level, target }) => level !== 'info' && !EXPECTED_WARNINGS.includes(target));
      expect(warnings).toEqual([]);
    },
    30_000,
  );

  it.each(PAGES)(
    '%s: what is tried prints what the page says',
    async (page) => {
      const [gateway, metrics, first, second] = await freePorts(4);
      const ports = new Map([
        ['30000', gateway],
        ['29000', metrics],
        ['31001', first],
        ['31002', second],
      ]);
      const here = (text: string): string =>
        text.replaceAll(/(?<!\d)(?:30000|29000|31001|31002)(?!\d)/g, (port) =>
          String(ports.get(port)),
        );
      const steps = stepsOf(sectionOf(page, 'Try it without a GPU'));
      expect(steps.length).toBeGreaterThan(2);
      const shell = new GuideShell(60_000);
      try {
        for (const { command, expected } of steps) {
          const printed = await shell.run(here(command));
          expect({ command, printed }).toEqual({
            command,
            printed: expect.stringMatching(patternOf(here(expected))),
          });
        }
      } finally {
        shell.close();
      }
    },
    70_000,
  );
});
