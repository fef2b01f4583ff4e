import { readSharedKeyFile } from '@smg/auth';
import { type GatewayConfig } from '@smg/config';

/**
 * The shared key as the start-up workers get it: its value when the process started. A key file that is
 * changed later opens the gateway to the new key, and says nothing about what an engine expects.
 * @throws Error when the file cannot be used.
 */
export async function sharedKeyAtStart({ auth }: GatewayConfig): Promise<string | undefined> {
  if (auth.apiKey !== undefined || auth.apiKeyFile === undefined) return auth.apiKey;
  return readSharedKeyFile(auth.apiKeyFile);
}
