import { findPorts } from './free-ports';

const search = (taken: readonly number[], random = 0) => ({
  random: () => random,
  isFree: async (port: number) => !taken.includes(port),
});

describe('findPorts', () => {
  it('begins at the base and goes on in random steps of 1 to 5', async () => {
    expect(await findPorts(31000, 3, search([]))).toEqual([31000, 31001, 31002]);
    expect(await findPorts(31000, 3, search([], 0.999))).toEqual([31000, 31005, 31010]);
  });

  it('passes over what is taken', async () => {
    expect(await findPorts(31000, 2, search([31000, 31001, 31003]))).toEqual([31002, 31004]);
  });

  it('gives up at the last port', async () => {
    await expect(findPorts(65534, 3, search([]))).rejects.toThrow(
      'there are no 3 free ports from --worker-base-port 65534 on',
    );
  });
});
