import { renderServeHelp } from '@smg/config';
import { EXIT } from '../../src/cli/rl/rl-failure';
import { runRl } from '../e2e/support/rl-cli';
import { RL_COMMAND as command } from './support/rl-flags';
import { splitFences, tableRows, textOf } from './support/pages';

describe('docs/reference/cli-rl.md', () => {
  const { blocks } = splitFences(textOf('docs/reference/cli-rl.md'));

  it.each([command, ...command.commands].map((each) => [each.name(), each] as const))(
    'shows the help of %s as it is',
    async (name, each) => {
      const help = each.helpInformation().trim();
      expect(blocks.map((block) => block.trim())).toContain(help);
      // And that is what the program prints.
      const argv = each === command ? ['--help'] : [name, '--help'];
      expect((await runRl(argv)).stdout.trim()).toBe(help);
    },
  );

  it('names every exit code', () => {
    const listed = tableRows(textOf('docs/reference/cli-rl.md')).flatMap(([code = '']) =>
      /^\d$/.test(code) ? [Number(code)] : [],
    );
    expect(listed).toEqual(Object.values(EXIT));
  });
});

describe('docs/guides/serve.md', () => {
  it('shows the help of smg serve as it is', () => {
    const { blocks } = splitFences(textOf('docs/guides/serve.md'));
    expect(blocks.map((block) => block.trim())).toContain(renderServeHelp().trim());
  });
});
