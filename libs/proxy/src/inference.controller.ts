import { Controller, Get, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { DataPlane, DescribedBy, Public } from '@smg/plugin-api';
import type * as Description from './docs/inference.description';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { DataPlaneServer } from './data-plane.server';
import { HotRoute } from './hot-route.decorator';
import { ResponseInterceptorChain } from './response-interceptor.chain';

/** The part of a framework request that is used here. */
export interface RawRequest {
  readonly raw: IncomingMessage;
}

/** The part of a framework reply that is used here. */
export interface RawReply {
  readonly raw: ServerResponse;
  hijack(): void;
}

/**
 * Declares the inference routes: path, plane, interceptors. The data plane reads these decorators at
 * boot and serves the routes itself; the methods run only with `--hot-lane off`.
 */
@DescribedBy(
  () => (require('./docs/inference.description') as typeof Description).INFERENCE_DESCRIPTION,
)
@Controller()
@UseInterceptors(ResponseInterceptorChain)
export class InferenceController {
  constructor(private readonly dataPlane: DataPlaneServer) {}

  @DataPlane()
  @HotRoute()
  @Post('generate')
  generate(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('inference/v1/generate')
  inferenceGenerate(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('skyrl/v1/generate')
  skyrlGenerate(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/chat/completions')
  chat(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/chat/completions/render')
  renderChat(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('tokenize')
  tokenize(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('detokenize')
  detokenize(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/completions')
  completions(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/embeddings')
  embeddings(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/rerank')
  rerankV1(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('rerank')
  rerank(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/classify')
  classify(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/messages')
  messages(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/responses')
  responses(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/audio/transcriptions')
  transcriptions(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  /** A WebSocket: upgrades never come here, only what is none. */
  @DataPlane()
  @HotRoute()
  @Get('v1/realtime')
  realtime(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/realtime/sessions')
  realtimeSessions(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/realtime/client_secrets')
  realtimeClientSecrets(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @DataPlane()
  @HotRoute()
  @Post('v1/realtime/transcription_sessions')
  realtimeTranscription(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @Public()
  @HotRoute()
  @Get('get_model_info')
  modelInfo(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @Public()
  @HotRoute()
  @Get('get_server_info')
  serverInfo(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @Public()
  @HotRoute()
  @Get('model_info')
  plainModelInfo(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @Public()
  @HotRoute()
  @Get('server_info')
  plainServerInfo(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  @Public()
  @HotRoute()
  @Get('health_generate')
  healthGenerate(@Req() request: RawRequest, @Res() reply: RawReply): void {
    this.relay(request, reply);
  }

  private relay(request: RawRequest, reply: RawReply): void {
    reply.hijack();
    this.dataPlane.serve(request.raw, reply.raw);
  }
}
