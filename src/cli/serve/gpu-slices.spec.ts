import { gpusPerEngine, gpuSlices } from './gpu-slices';

describe('gpusPerEngine', () => {
  it.each([
    [[], 1],
    [['--tp-size', '4'], 4],
    [['--tp', '4'], 4],
    [['-tp', '2'], 2],
    [['--tensor-parallel-size=8'], 8],
    [['--tensor_parallel_size=8'], 8],
    [['--tp-size', '2', '--tp-size', '4'], 4],
    [['--tensor-parallel-size', '4', '--pipeline-parallel-size', '2'], 8],
    [['--model-path', 'tp', '--max-tp', '9'], 1],
  ])('%j: %i', (args, gpus) => {
    expect(gpusPerEngine(args)).toBe(gpus);
  });

  it.each([[['--tp-size']], [['--tp-size', '0']], [['--tp-size', 'two']], [['--tp=-1']]])(
    '%j is refused',
    (args) => {
      expect(() => gpusPerEngine(args)).toThrow('is not followed by a whole number above 0');
    },
  );
});

describe('gpuSlices', () => {
  it.each([
    [undefined, 1, 1, ['0']],
    [undefined, 2, 4, ['0,1,2,3', '4,5,6,7']],
    ['', 2, 1, ['0', '1']],
    ['4,5,6,7', 2, 2, ['4,5', '6,7']],
    [' 4 , 5 ,', 2, 1, ['4', '5']],
    ['7,6,5', 1, 2, ['7,6']],
    ['GPU-aa,MIG-bb', 2, 1, ['GPU-aa', 'MIG-bb']],
    ['-1', 2, 4, ['-1', '-1']],
  ])('%j for %i engines of %i', (pool, engines, each, slices) => {
    expect(gpuSlices(pool, engines, each)).toEqual(slices);
  });

  it('a pool that is too small is refused, with the numbers', () => {
    expect(() => gpuSlices('0,1,2', 2, 2)).toThrow('names 3 of the 4 GPUs');
  });
});
