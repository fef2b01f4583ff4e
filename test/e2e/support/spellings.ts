const hex = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** Ways to write a path that some part of a server might read as the same path. */
export function spellings(route: string): string[] {
  const first = route[1] ?? '';
  const last = route.at(-1) ?? '';
  const encodedFirst = `/${hex(first)}${route.slice(2)}`;
  const inside = route.indexOf('/', 1);
  const deeper =
    inside < 0
      ? []
      : [
          `${route.slice(0, inside)}%2f${route.slice(inside + 1)}`,
          `${route.slice(0, inside)}%5c${route.slice(inside + 1)}`,
          `${route.slice(0, inside)}/${route.slice(inside)}`,
          `${route.slice(0, inside)}/.${route.slice(inside)}`,
          `${route.slice(0, inside)}/x/..${route.slice(inside)}`,
          `${route.slice(0, inside)}/%2e${route.slice(inside)}`,
          `${route.slice(0, inside)};x=1${route.slice(inside)}`,
        ];
  return [
    route,
    encodedFirst,
    encodedFirst.toUpperCase(),
    route.slice(0, -1) + hex(last),
    `/${Array.from(route.slice(1), (it) => (/[a-z_]/.test(it) ? hex(it) : it)).join('')}`,
    `/%25${hex(first).slice(1)}${route.slice(2)}`,
    `%2f${route.slice(1)}`,
    `/%2f${route.slice(1)}`,
    `/${route}`,
    `//${route}`,
    `/\\${route}`,
    `\\${route.slice(1)}`,
    `${route}/`,
    `${route}//`,
    `${route}/.`,
    `${route}/x/..`,
    `${route}%2f`,
    `${route}?x=1`,
    `${route}?`,
    `${route};x=1`,
    `${route};`,
    `${route}%00`,
    `${route}%20`,
    `${route}%3f`,
    `${route}%23`,
    `${route}#x`,
    `${route}.`,
    `/.${route}`,
    `/x/..${route}`,
    `/health/..${route}`,
    `/health/%2e%2e${route}`,
    `/health%2f..${route}`,
    `/health/..;${route}`,
    `/v1/models/..${route}`,
    route.toUpperCase(),
    `/${first.toUpperCase()}${route.slice(2)}`,
    `http://x${route}`,
    `http://x/health/..${route}`,
    `http://x/${route}`,
    `https://gateway:443${route}`,
    ...deeper,
  ];
}
