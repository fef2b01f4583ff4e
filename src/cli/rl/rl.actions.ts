import { blamesEngine, outcomeOf } from './engine-outcome';
import { engineIdOf, renderRows, rowsOf } from './engine-rows';
import { escapedPath, escapedSegment } from './escaped-path';
import { fanoutLines } from './fanout-report';
import { plainText, plainValue } from './plain-text';
import { refusalOf, RlClient, type Answer, type Sending } from './rl-client';
import { EXIT, RlFailure } from './rl-failure';
import { type CallFlags, type RlActions, type WriteFlags } from './rl-flags';
import { refit } from './refit.action';
import { type RlProgram } from './rl-program';
import { readSettings, type CommonFlags } from './rl-settings';
import { renderTable } from './table';

/** The commands of `smg rl`, against a gateway. */
export function rlActions(program: RlProgram): RlActions {
  const clientOf = (flags: CommonFlags): RlClient => new RlClient(readSettings(flags, program));
  const print = (text: string): void => {
    program.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  };
  const printRows = (answer: Answer, flags: CommonFlags): number => {
    const rows = rowsOf(answer);
    print(flags.json === true ? answer.text : renderRows(rows));
    return EXIT.ok;
  };

  return {
    async workers(worker, flags) {
      const client = clientOf(flags);
      const id = worker === undefined ? undefined : await engineIdOf(client, worker);
      const path = id === undefined ? '/workers' : `/workers/${escapedSegment(id)}`;
      return printRows(await client.send({ method: 'GET', path }), flags);
    },

    async call(worker, path, flags) {
      const sending = sendingOf(flags, program);
      const client = clientOf(flags);
      const id = escapedSegment(await engineIdOf(client, worker));
      const answer = await client.send({
        ...sending,
        path: `/workers/${id}/engine/${escapedPath(path)}`,
      });
      const outcome = outcomeOf(answer.json);
      if (flags.json === true) print(answer.text);
      if (outcome === undefined) {
        throw new RlFailure(refusalOf(answer), blamesEngine(answer) ? EXIT.engines : EXIT.refused);
      }
      if (flags.json !== true) {
        const { status, latencyMs, body } = outcome;
        print(`HTTP ${status} in ${latencyMs} ms`);
        print(typeof body === 'string' ? plainText(body) : JSON.stringify(body, undefined, 2));
      }
      return outcome.problem === undefined ? EXIT.ok : EXIT.engines;
    },

    async fanout(path, flags) {
      const { params = [], ...sending } = sendingOf(flags, program);
      const answer = await clientOf(flags).send({
        ...sending,
        path: `/engine/${escapedPath(path)}`,
        params: [...params.filter(([name]) => name !== 'selector'), ['selector', flags.selector]],
      });
      const lines = fanoutLines(answer);
      const failed = lines.filter(({ problem }) => problem !== undefined).length;
      if (flags.json === true) print(answer.text);
      else {
        const rows = lines.map(({ url, outcome, problem }) => [
          url,
          plainValue(outcome?.status),
          plainValue(outcome?.latencyMs),
          problem ?? 'ok',
        ]);
        print(renderTable(['URL', 'STATUS', 'MS', 'RESULT'], rows));
        print(`${lines.length} engines, ${failed} failed`);
      }
      return failed === 0 ? EXIT.ok : EXIT.engines;
    },

    async setVersion(version, flags) {
      return printRows(await write('version', { weight_version: version }, flags), flags);
    },

    async setState(control, flags) {
      return printRows(await write('state', { control }, flags), flags);
    },

    async refit(flags) {
      return refit(clientOf(flags), flags, program);
    },
  };

  async function write(route: string, body: object, flags: WriteFlags): Promise<Answer> {
    const { worker, selector } = flags;
    if ((worker === undefined) === (selector === undefined)) {
      throw new RlFailure('give either --worker or --selector');
    }
    const client = clientOf(flags);
    const sending = { method: 'POST', body: JSON.stringify(body) };
    if (worker === undefined) {
      return client.send({ ...sending, path: `/${route}`, params: [['selector', selector ?? '']] });
    }
    const id = escapedSegment(await engineIdOf(client, worker));
    return client.send({ ...sending, path: `/workers/${id}/${route}` });
  }
}

function sendingOf(flags: CallFlags, program: RlProgram): Omit<Sending, 'path'> {
  const { method, param = [], body, bodyFile } = flags;
  if (body !== undefined && bodyFile !== undefined) {
    throw new RlFailure('give either --body or --body-file');
  }
  const isGet = method === 'GET';
  const given = bodyFile === undefined ? body : bodyIn(bodyFile, program);
  if (isGet && given !== undefined && given !== '') throw new RlFailure('a GET has no body');
  const sent = given ?? (isGet ? '' : '{}');
  return { method, params: param, body: sent === '' ? undefined : sent };
}

function bodyIn(path: string, program: RlProgram): string {
  try {
    // File 0 is the standard input.
    return program.readFile(path === '-' ? 0 : path);
  } catch (error) {
    const { code = 'unreadable' } = error as { code?: string };
    throw new RlFailure(`--body-file ${JSON.stringify(path)}: ${code}`);
  }
}
