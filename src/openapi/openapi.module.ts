import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller';
import { DocumentSource } from './document.source';

/** The API described by the gateway itself; left out with `--disable-docs`. */
@Module({ controllers: [DocsController], providers: [DocumentSource] })
export class OpenApiModule {}
