import { type WorkerView } from '@smg/plugin-api';
import { fakeWorker } from '@smg/testing';
import { batchSizeOf, bootstrapFields, roomOf } from './bootstrap';
import { editFields } from './field-edits';
import {
  connectorMode,
  decodeParams,
  prefillEdits,
  type PrefillConnector,
  transferIdOf,
  wantsSeveral,
} from './kv-transfer';
import { legError, messageIn } from './leg-errors';
import { peersOf, withPeers } from './pairing';

describe('bootstrap fields', () => {
  it.each([
    ['generate', { text: 'x' }, undefined],
    ['generate', { input_ids: [1, 2, 3] }, undefined],
    ['generate', { input_ids: [[1], [2]] }, 2],
    ['generate', { text: ['a', 'b', 'c'] }, 3],
    ['generate', { text: [] }, undefined],
    ['chat', { n: 1 }, undefined],
    ['chat', { n: 4 }, 4],
    ['chat', { n: 2.5 }, undefined],
    ['completions', { prompt: ['a'] }, 1],
    ['completions', { prompt: [5, 6] }, undefined],
    ['messages', { n: 4 }, undefined],
  ] as const)('%s %j is a batch of %s', (endpoint, json, size) => {
    expect(batchSizeOf(endpoint, json as Record<string, unknown>)).toBe(size);
  });

  it('are single values, or lists of distinct rooms', () => {
    const rooms = ['9223372036854775807', '1', '1', '2'];
    const room = (): string => rooms.shift() ?? 'none';
    expect([...bootstrapFields({ host: 'p', port: undefined }, undefined, room)]).toEqual([
      ['bootstrap_host', '"p"'],
      ['bootstrap_port', 'null'],
      ['bootstrap_room', '9223372036854775807'],
    ]);
    expect([...bootstrapFields({ host: 'p', port: 9000 }, 2, room)]).toEqual([
      ['bootstrap_host', '["p","p"]'],
      ['bootstrap_port', '[9000,9000]'],
      ['bootstrap_room', '[1,2]'],
    ]);
  });

  it('keep rooms below 2^63, digit by digit', () => {
    expect(roomOf(new Uint8Array(8).fill(255))).toBe('9223372036854775807');
    expect(roomOf(new Uint8Array(8))).toBe('0');
    expect(roomOf(Buffer.from('8020000000000001', 'hex'))).toBe('9007199254740993');
  });
});

describe('KV transfer', () => {
  const edited = (text: string, endpoint: 'chat' | 'completions' | 'responses', mode = 'x') => {
    const json = JSON.parse(text) as Record<string, unknown>;
    return editFields(
      Buffer.from(text),
      prefillEdits(endpoint, json, connectorMode(mode), 'T'),
    ).toString();
  };

  it('asks prefill for one token in one piece', () => {
    expect(
      edited(
        '{"model":"m","stream":true,"stream_options":{"include_usage":true},"n":1,"max_tokens":9,"min_tokens":5,"seed":9007199254740993}',
        'completions',
      ),
    ).toBe('{"model":"m","stream":false,"n":1,"max_tokens":1,"seed":9007199254740993}');
    expect(JSON.parse(edited('{"max_tokens":9,"max_completion_tokens":7}', 'chat'))).toEqual({
      stream: false,
      max_completion_tokens: 1,
    });
    expect(JSON.parse(edited('{"input":"x"}', 'responses'))).toEqual({
      stream: false,
      input: 'x',
      max_output_tokens: 1,
    });
    expect(JSON.parse(edited('{}', 'chat', 'MooncakeConnector'))).toEqual({
      stream: false,
      max_tokens: 1,
      kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false, transfer_id: 'T' },
    });
    expect(JSON.parse(edited('{}', 'chat', 'NixlConnector'))).toEqual({
      stream: false,
      max_tokens: 1,
      kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false },
    });
  });

  const connector: PrefillConnector = {
    kvConnector: 'MooncakeConnector',
    kvEngineId: 'E',
    host: 'p',
    bootstrapPort: undefined,
    dpRank: undefined,
    dpSize: undefined,
    dpSizeLabel: undefined,
  };
  const mooncake = (more: Partial<PrefillConnector>): unknown => {
    const params = decodeParams('mooncake', { ...connector, ...more }, 'T', Buffer.from('{}'));
    return params === undefined ? undefined : JSON.parse(params);
  };

  it('tells decode where a Mooncake engine waits', () => {
    expect(mooncake({})).toEqual({
      do_remote_decode: false,
      do_remote_prefill: true,
      transfer_id: 'T',
      remote_engine_id: 'E',
      remote_bootstrap_addr: 'http://p:8998',
    });
    expect(mooncake({ host: '::1', bootstrapPort: 7, dpSize: 2, dpRank: 1 })).toMatchObject({
      remote_engine_id: 'E_dp1',
      remote_bootstrap_addr: 'http://[::1]:7',
    });
    expect(mooncake({ dpSizeLabel: '4', dpRank: 3 })).toMatchObject({ remote_engine_id: 'E_dp3' });
    expect(mooncake({ dpSizeLabel: '1' })).toMatchObject({ remote_engine_id: 'E' });
  });

  it.each([{ kvEngineId: '' }, { kvEngineId: undefined }, { dpSize: 2 }, { dpSizeLabel: 'two' }])(
    'tells it nothing with %j',
    (more) => {
      expect(mooncake(more)).toBeUndefined();
    },
  );

  it('hands over what the engine returned as it wrote it', () => {
    const returned = '{"remote_block_ids":[9007199254740993, 1e2],"x":null}';
    const answer = Buffer.from(`{"id":1,"kv_transfer_params" : ${returned}}`);
    expect(decodeParams('nixl', connector, 'T', answer)).toBe(returned);
    expect(decodeParams('passthrough', connector, 'T', answer)).toBe(returned);
    for (const text of ['{}', '{"kv_transfer_params":null}', 'x', '{"kv_transfer_params":[1]}']) {
      expect(decodeParams('nixl', connector, 'T', Buffer.from(text))).toBeUndefined();
    }
  });

  it('names transfers by a UUIDv7', () => {
    expect(transferIdOf(0x0123456789ab, new Uint8Array(10).fill(255))).toBe(
      'xfer-01234567-89ab-7fff-bfff-ffffffffffff',
    );
    expect(wantsSeveral({ n: 2 })).toBe(true);
    expect(wantsSeveral({ n: '2' })).toBe(false);
  });
});

describe('errors of a leg', () => {
  it.each([
    [400, 'bad_request', 400],
    [404, 'not_found', 404],
    [500, 'internal_error', 500],
    [502, 'bad_gateway', 502],
    [503, 'unavailable', 503],
    [418, 'error', 500],
    [302, 'error', 500],
  ])('%i is %s', (status, kind, own) => {
    const decode = legError('decode', status, Buffer.from('{"error":{"message":"why"}}'));
    expect(decode).toMatchObject({ code: `decode_${kind}`, status: own, message: 'why' });
    const prefill = legError('prefill', status, Buffer.from('why'));
    expect(prefill).toMatchObject({
      code: `prefill_${kind}`,
      status: own,
      message: `Prefill server error (${status}): why`,
    });
  });

  it.each(['{"message":"why"}', 'why', '{"error":"x"}', 'null', '{"error":{"message":7}}'])(
    'says something about %j',
    (text) => {
      expect(messageIn(Buffer.from(text))).toBe(text.includes('"why"') ? 'why' : text);
    },
  );
});

describe('pairing', () => {
  const make = (runtime: string, url: string): WorkerView => fakeWorker({ runtime, url });
  const [s1, s2, v1, g1] = [
    make('sglang', 'http://s1'),
    make('sglang', 'http://s2'),
    make('vllm', 'http://v1'),
    make('generic', 'http://g1'),
  ];

  it('leaves a fleet of one runtime alone', () => {
    const prefill = [s1];
    const decode = [s2];
    const [fillers, decoders] = withPeers([prefill, decode]);
    expect(fillers).toBe(prefill);
    expect(decoders).toBe(decode);
    expect(peersOf(s1, decode)).toBe(decode);
  });

  it('drops who has no peer, and keeps who nobody has recognised', () => {
    expect(withPeers([[s1, v1], [s2]])).toEqual([[s1], [s2]]);
    expect(withPeers([[v1], [s2]])).toEqual([[], []]);
    expect(withPeers([[s1, v1], [g1]])).toEqual([[s1, v1], [g1]]);
    expect(peersOf(v1, [s2, v1, g1])).toEqual([v1, g1]);
  });
});
