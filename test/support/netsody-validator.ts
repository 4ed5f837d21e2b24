/**
 * What an agent makes of a network's file, from the rules of its documentation and in no way from ours: addresses are compared here as
 * numbers of 32 bits. Throws an Error for the first thing that it would refuse.
 */
export function acceptAsAgent(text: string): { dest: string; gw: string; groups: string[] }[] {
  const file = Bun.TOML.parse(text) as Record<string, unknown>;
  const [networkAddress, networkLength] = cidr(text1(file.network));
  const pks = new Set<string>();
  const taken = new Set<string>();
  for (const node of tables(file.node)) {
    const [pk, ip, hostname] = [text1(node.pk), text1(node.ip), text1(node.hostname)];
    if (!/^[0-9a-fA-F]{64}$/.test(pk)) throw new Error(`pk ${pk}`);
    const address = ipv4(ip);
    const size = 2 ** (32 - networkLength);
    if (address < networkAddress || address >= networkAddress + size - 1) throw new Error(`ip ${ip} outside or last`);
    for (const value of [`pk ${pk.toLowerCase()}`, `ip ${address}`, `hostname ${hostname}`]) {
      if (taken.has(value)) throw new Error(`${value} twice`);
      taken.add(value);
    }
    pks.add(pk.toLowerCase());
    strings(node.groups);
  }
  const entries = [...tables(file.resource), ...tables(file.route)].map((entry) => {
    const [dest, gw] = [text1(entry.dest), text1(entry.gw)];
    if (!pks.has(gw.toLowerCase())) throw new Error(`gw ${gw} unknown`);
    if (taken.has(`dest ${dest}`)) throw new Error(`dest ${dest} twice`);
    taken.add(`dest ${dest}`);
    if (/^[\d./]+$/.test(dest)) cidr(dest);
    return { dest, gw, groups: strings(entry.groups) };
  });
  tables(file.policy);
  return entries;
}

function text1(value: unknown): string {
  if (typeof value !== "string" || value === "") throw new Error(`${JSON.stringify(value)} is no text`);
  return value;
}

function tables(value: unknown): Record<string, unknown>[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((each) => typeof each !== "object")) throw new Error("no array of tables");
  return value as Record<string, unknown>[];
}

function strings(value: unknown): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((each) => typeof each !== "string")) throw new Error("no list of texts");
  return value as string[];
}

function ipv4(text: string): number {
  const parts = text.split(".");
  if (parts.length !== 4 || parts.some((part) => !/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255)) {
    throw new Error(`${text} is no IPv4 address`);
  }
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

function cidr(text: string): [number, number] {
  const [address = "", length = ""] = text.split("/");
  if (!/^\d{1,2}$/.test(length) || Number(length) > 32) throw new Error(`${text} is no network`);
  if (ipv4(address) % 2 ** (32 - Number(length)) !== 0) throw new Error(`${text} is a host address`);
  return [ipv4(address), Number(length)];
}
