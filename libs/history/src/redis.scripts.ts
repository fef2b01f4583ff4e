/**
 * What must happen in one step, as scripts. Keys of a conversation: itself, the sorted set of its items
 * by position, the counter of positions. An item is a hash of its `body` and the number of its `uses`.
 * A `ttl` of 0 keeps for ever; otherwise seconds. An item may expire before its conversation does: its
 * place in the set is then swept by whoever meets it.
 */

const KEEP = `
local function keep(key, ttl)
  if ttl > 0 then redis.call('EXPIRE', key, ttl) end
end
`;

const UNUSE = `
local function unuse(key)
  if redis.call('EXISTS', key) == 1 and redis.call('HINCRBY', key, 'uses', -1) <= 0 then
    redis.call('DEL', key)
  end
end
`;

/** KEYS: conversation, items, counter. ARGV: ttl, prefix of item keys, then kind, id, body of each. */
export const ADD_ITEMS = `${KEEP}
if redis.call('EXISTS', KEYS[1]) == 0 then return {'no_conversation'} end
local ttl, prefix = tonumber(ARGV[1]), ARGV[2]
for i = 3, #ARGV, 3 do
  local id = ARGV[i + 1]
  local isStored = redis.call('EXISTS', prefix .. id) == 1
  if isStored and redis.call('ZSCORE', KEYS[2], id) then return {'duplicate', id} end
  if not isStored and ARGV[i] == 'reference' then return {'unknown_item', id} end
end
local answer = {'added'}
for i = 3, #ARGV, 3 do
  local id = ARGV[i + 1]
  local key = prefix .. id
  redis.call('HSETNX', key, 'body', ARGV[i + 2])
  redis.call('HINCRBY', key, 'uses', 1)
  keep(key, ttl)
  redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[3]), id)
  answer[#answer + 1] = id
  answer[#answer + 1] = redis.call('HGET', key, 'body')
end
for i = 1, 3 do keep(KEYS[i], ttl) end
return answer
`;

/** KEYS: conversation, items. ARGV: prefix of item keys, limit, order, id after which, or ''. */
export const LIST_ITEMS = `
if redis.call('EXISTS', KEYS[1]) == 0 then return {'no_conversation'} end
local prefix, limit, isAscending = ARGV[1], tonumber(ARGV[2]), ARGV[3] == 'asc'
local from = isAscending and '-inf' or '+inf'
if ARGV[4] ~= '' then
  local position = redis.call('ZSCORE', KEYS[2], ARGV[4])
  if not position then return {'unknown_item'} end
  from = '(' .. position
end
local answer, count = {'page'}, 0
while count < limit do
  local found
  if isAscending then
    found = redis.call('ZRANGEBYSCORE', KEYS[2], from, '+inf', 'WITHSCORES', 'LIMIT', 0, limit - count)
  else
    found = redis.call('ZREVRANGEBYSCORE', KEYS[2], from, '-inf', 'WITHSCORES', 'LIMIT', 0, limit - count)
  end
  if #found == 0 then break end
  for i = 1, #found, 2 do
    local body = redis.call('HGET', prefix .. found[i], 'body')
    if body then
      answer[#answer + 1] = found[i]
      answer[#answer + 1] = body
      count = count + 1
    else
      redis.call('ZREM', KEYS[2], found[i])
    end
    from = '(' .. found[i + 1]
  end
end
return answer
`;

/** KEYS: items. ARGV: prefix of item keys, id. */
export const REMOVE_ITEM = `${UNUSE}
if redis.call('ZREM', KEYS[1], ARGV[2]) == 0 then return 0 end
unuse(ARGV[1] .. ARGV[2])
return 1
`;

/** KEYS: conversation, items, counter. ARGV: prefix of item keys. */
export const DELETE_CONVERSATION = `${UNUSE}
local had = redis.call('DEL', KEYS[1])
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do unuse(ARGV[1] .. id) end
redis.call('DEL', KEYS[2], KEYS[3])
return had
`;

/** KEYS: conversation, items, counter. ARGV: what it was, what it becomes, ttl. */
export const CHANGE_IF_SAME = `${KEEP}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
for i = 1, 3 do keep(KEYS[i], tonumber(ARGV[3])) end
return 1
`;
