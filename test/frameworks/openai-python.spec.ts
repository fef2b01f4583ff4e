import { MockEngine } from '@smg/testing';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGateway } from '../support/gateway';
import { until } from '../support/until';

const run = promisify(execFile);
const SCRIPT = join(__dirname, 'support/openai_client.py');
const CHAT = '/v1/chat/completions';
const INSTALL_MS = 150_000;

/** A folder with the package in it, or why there is none. */
async function install(folder: string): Promise<string | undefined> {
  const python = join(folder, 'bin/python');
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_MS });
    await run(python, ['-m', 'pip', 'install', '--quiet', '--no-input', 'openai<4'], {
      timeout: INSTALL_MS,
    });
    return undefined;
  } catch (error) {
    return String((error as { stderr?: string }).stderr ?? error)
      .trim()
      .split('\n')
      .slice(-1)[0];
  }
}

describe('the openai package for Python', () => {
  const folder = mkdtempSync(join(tmpdir(), 'smg-openai-'));
  let missing: string | undefined;
  beforeAll(async () => {
    missing = await install(folder);
    if (missing !== undefined) {
      process.stderr.write(`skipped: openai for Python cannot be installed: ${missing}\n`);
    }
  }, 2 * INSTALL_MS);
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('works unchanged', async () => {
    if (missing !== undefined) return;
    const engine = await new MockEngine({ kind: 'vllm', tokens: 4 }).start();
    const gateway = await startGateway({ retry: { maxAttempts: 1 } }, { engines: [engine] });
    const once = new Set<string>();
    engine.onRequest((request) => {
      const wanted = request.header('x-request-id-case');
      if (wanted === undefined || once.has(wanted)) return;
      once.add(wanted);
      return wanted === 'slow' ? new Promise((resolve) => setTimeout(resolve, 500)) : undefined;
    });
    // Of the requests of one case, the first is turned away.
    engine.behave({
      route: CHAT,
      status: 503,
      times: 1,
      when: (request) => request.header('x-request-id-case') === 'busy',
    });
    try {
      const { stdout } = await run(
        join(folder, 'bin/python'),
        ['-B', SCRIPT, gateway.url, 'mock-model', engine.url],
        { timeout: 60_000 },
      );
      expect(JSON.parse(stdout)).toEqual({
        models: ['mock-model'],
        chat: { words: 4, finish: 'stop', total: 6, is_worker: true },
        stream: { same: true, tokens: 4 },
        completions: 2,
        embeddings: { count: 2, same: true },
        responses: { words: 4, same: true, ends: ['response.created', 'response.completed'] },
        transcription: 'Hello from the tape',
        extra_body: 2,
        unknown_model: {
          class: 'NotFoundError',
          status: 404,
          code: 'model_not_found',
          has_request_id: true,
        },
        bad_request: {
          class: 'BadRequestError',
          status: 400,
          code: expect.any(String),
          has_request_id: true,
        },
        wrong_timeout: {
          class: 'APITimeoutError',
          status: null,
          code: null,
          has_request_id: false,
        },
        tries_again: 1,
        leaves_stream: 'left',
        many_at_once: 32,
      });
      await until('the engine is free', () => engine.counters.inFlight === 0);
      expect(engine.requestsTo(CHAT)[0]?.header('authorization')).toBe('Bearer sk-none');
    } finally {
      await gateway.close();
      await engine.stop();
    }
  }, 90_000);
});
