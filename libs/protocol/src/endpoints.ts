/** `endpoint` label values of the router metrics. */
export type Endpoint =
  | 'chat'
  | 'generate'
  | 'completions'
  | 'responses'
  | 'rerank'
  | 'embeddings'
  | 'classify'
  | 'messages'
  | 'audio_transcriptions'
  | 'render'
  | 'tokenize'
  | 'detokenize'
  | 'realtime'
  | 'realtime_sessions'
  | 'realtime_client_secrets'
  | 'realtime_transcription'
  /** Information routes relayed from one ready worker. */
  | 'info';

/** Model name that stands for "any model": the default of `/generate`. */
export const UNKNOWN_MODEL = 'unknown';
