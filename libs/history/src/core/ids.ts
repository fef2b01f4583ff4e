/** Bytes for a new id; from a cryptographic source, because an id is hard to guess. */
export type RandomHex = (bytes: number) => string;

const ID_BYTES = 24;
const PLAIN = /^[A-Za-z0-9_.:-]{1,256}$/;

/** Ids that a store can hold; anything else was never stored. */
export function isPlainId(id: string): boolean {
  return PLAIN.test(id);
}

/** @param prefix without its underscore: `conv`. */
export function newId(prefix: string, random: RandomHex): string {
  return `${prefix}_${random(ID_BYTES)}`;
}

/** Prefixes of the ids of items, by their type; others start with the type's first three letters. */
const PREFIXES = new Map([
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['function_call_output', 'fco'],
  ['custom_tool_call', 'ctc'],
  ['custom_tool_call_output', 'ctco'],
  ['mcp_call', 'mcp'],
  ['mcp_list_tools', 'mcpl'],
  ['mcp_approval_request', 'mcpr'],
  ['mcp_approval_response', 'mcprr'],
  ['file_search_call', 'fs'],
  ['web_search_call', 'ws'],
  ['image_generation_call', 'ig'],
  ['code_interpreter_call', 'ci'],
  ['computer_call', 'cu'],
  ['computer_call_output', 'cuo'],
  ['local_shell_call', 'lsh'],
  ['local_shell_call_output', 'lsho'],
]);

/** Types of the items a conversation may hold. */
export function isItemType(type: string): boolean {
  return PREFIXES.has(type);
}

export function newItemId(type: string, random: RandomHex): string {
  return newId(PREFIXES.get(type) ?? 'item', random);
}
