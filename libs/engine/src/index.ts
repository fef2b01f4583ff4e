export { EngineModule } from './engine.module';
export { SglangEngine } from './core/sglang.engine';
export { VllmEngine } from './core/vllm.engine';
export { GenericEngine } from './core/generic.engine';
export { TrtllmEngine } from './core/trtllm.engine';
export { TokenspeedEngine } from './core/tokenspeed.engine';
export { MlxEngine } from './core/mlx.engine';
