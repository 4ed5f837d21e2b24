/**
 * Two nodes with three pods and a host outside, each in a network namespace of its own; nothing of it touches this machine's network. On the nodes is what a
 * cluster has anyway: routes between pods, masquerading to the outside and a cluster IP, as a network plugin and kube-proxy make them.
 */
import { join } from "node:path";
import type { Family } from "../../src/node/address.ts";
import { run } from "./cluster/command.ts";

export const machines = ["wire", "outside", "one", "two", "a", "b", "c"] as const;
export type Machine = (typeof machines)[number];

/** Pods `a` and `b` are on the node `one`, `c` on the node `two`. */
const nodeOf = { a: "one", b: "one", c: "two" } as const;

export interface LabAddresses extends Record<Exclude<Machine, "wire">, string> {
  clusterIP: string;
  /** Addresses of Services, the way to which leads over the node `one`, and over `two`. */
  overOne: string;
  overTwo: string;
}

export const addressesOf: Record<Family, LabAddresses> = {
  ip: {
    outside: "192.0.2.100",
    one: "192.0.2.1",
    two: "192.0.2.2",
    a: "10.244.1.10",
    b: "10.244.1.11",
    c: "10.244.2.10",
    clusterIP: "10.96.0.20",
    overOne: "203.0.113.5",
    overTwo: "203.0.113.133",
  },
  ip6: {
    outside: "2001:db8::100",
    one: "2001:db8::1",
    two: "2001:db8::2",
    a: "fd44:0:0:1::10",
    b: "fd44:0:0:1::11",
    c: "fd44:0:0:2::10",
    clusterIP: "fd96::20",
    overOne: "2001:db8:1::5",
    overTwo: "2001:db8:2::5",
  },
};

const ranges: Record<Family, { bits: number; pods: [string, string]; services: [string, string] }> = {
  ip: { bits: 24, pods: ["10.244.1.0/24", "10.244.2.0/24"], services: ["203.0.113.0/25", "203.0.113.128/25"] },
  ip6: { bits: 64, pods: ["fd44:0:0:1::/64", "fd44:0:0:2::/64"], services: ["2001:db8:1::/64", "2001:db8:2::/64"] },
};

type Answer = { id: number; result?: unknown; error?: string };

/** Tells a machine to do something; rejects with what it could not. */
export type Tell = (verb: string, order?: Record<string, string | number>) => Promise<unknown>;

export interface Lab extends AsyncDisposable {
  addresses: LabAddresses;
  /** What a command begins with to run on a machine. */
  on(machine: Machine): string[];
  tell: Record<Exclude<Machine, "wire">, Tell>;
}

let count = 0;

export async function openLab(family: Family): Promise<Lab> {
  count += 1;
  const prefix = `nl${process.pid.toString(36)}${count}`;
  const name = (machine: Machine) => `${prefix}${machine}`;
  const on = (machine: Machine) => ["nsenter", `--net=/run/netns/${name(machine)}`, "--"];
  const children: Bun.Subprocess<"pipe", "pipe", "inherit">[] = [];
  const close = async () => {
    for (const child of children) child.kill();
    await Promise.all(children.map((child) => child.exited));
    for (const machine of machines) Bun.spawnSync(["ip", "netns", "del", name(machine)], { stderr: "ignore" });
  };
  try {
    await ip(machines.map((machine) => `netns add ${name(machine)}`));
    // Addresses that are used at once, without a second of asking whether somebody else has them.
    const atOnce = "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad";
    for (const machine of machines) await run([...on(machine), "sh", "-c", atOnce]);
    await connectMachines(name, family);
    for (const node of ["one", "two"] as const)
      await run([...on(node), "nft", "-f", "-"], { input: clusterRules(family) });
    const hosts = machines.filter((machine) => machine !== "wire");
    const tell = Object.fromEntries(hosts.map((machine) => [machine, startHost(on(machine), children)]));
    const addresses = addressesOf[family];
    const lab = { addresses, on, tell: tell as Lab["tell"], [Symbol.asyncDispose]: close };
    for (const machine of hosts) {
      for (const port of [80, 8080])
        await lab.tell[machine]("serve", { address: family === "ip" ? "0.0.0.0" : "::", port });
    }
    return lab;
  } catch (error) {
    await close();
    throw error;
  }
}

async function ip(commands: readonly string[], ...where: string[]): Promise<void> {
  await run(["ip", ...where, "-batch", "-"], { input: `${commands.join("\n")}\n` });
}

async function connectMachines(name: (machine: Machine) => string, family: Family): Promise<void> {
  const { bits, pods, services } = ranges[family];
  const addresses = addressesOf[family];
  const [flag, host] = family === "ip" ? (["-4", 32] as const) : (["-6", 128] as const);
  const nodad = family === "ip" ? "" : "nodad";
  await ip(["link add br0 type bridge", "link set br0 up"], "-n", name("wire"));
  for (const machine of ["outside", "one", "two"] as const) {
    await ip(
      [`link add w-${machine} type veth peer name eth0 netns ${name(machine)}`, `link set w-${machine} master br0 up`],
      "-n",
      name("wire"),
    );
    await ip(
      ["link set lo up", `addr add ${addresses[machine]}/${bits} dev eth0 ${nodad}`, "link set eth0 up"],
      "-n",
      name(machine),
    );
  }
  for (const pod of ["a", "b", "c"] as const) {
    const node = nodeOf[pod];
    // A node answers for its own address on any link, but only in IPv4.
    const gateway = family === "ip" ? addresses[node] : "fe80::1";
    await ip(
      [
        `link add p-${pod} type veth peer name eth0 netns ${name(pod)}`,
        `link set p-${pod} up`,
        ...(family === "ip" ? [] : [`addr add fe80::1/64 dev p-${pod}`]),
      ],
      "-n",
      name(node),
    );
    await ip([`route add ${addresses[pod]}/${host} dev p-${pod}`], flag, "-n", name(node));
    await ip(
      ["link set lo up", `addr add ${addresses[pod]}/${host} dev eth0 ${nodad}`, "link set eth0 up"],
      "-n",
      name(pod),
    );
    await ip([`route add ${gateway} dev eth0`, `route add default via ${gateway} dev eth0`], flag, "-n", name(pod));
  }
  await ip(
    [`route add ${pods[1]} via ${addresses.two}`, `route add default via ${addresses.outside}`],
    flag,
    "-n",
    name("one"),
  );
  await ip(
    [`route add ${pods[0]} via ${addresses.one}`, `route add default via ${addresses.outside}`],
    flag,
    "-n",
    name("two"),
  );
  await ip(
    [`route add ${services[0]} via ${addresses.one}`, `route add ${services[1]} via ${addresses.two}`],
    flag,
    "-n",
    name("outside"),
  );
  for (const node of ["one", "two"] as const) {
    const settings = [
      "ipv4/ip_forward=1",
      "ipv4/conf/all/rp_filter=0",
      "ipv4/conf/all/send_redirects=0",
      "ipv6/conf/all/forwarding=1",
    ];
    const script = settings.map((each) => each.replace(/(.*)=(.*)/, "echo $2 > /proc/sys/net/$1")).join("\n");
    await run(["nsenter", `--net=/run/netns/${name(node)}`, "--", "sh", "-ec", script]);
  }
}

/** What a network plugin and kube-proxy do on every node. */
function clusterRules(family: Family): string {
  const { pods } = ranges[family];
  const { a, clusterIP, one, two } = addressesOf[family];
  return `table ${family} cluster {
    set inside { type ${family === "ip" ? "ipv4_addr" : "ipv6_addr"}; flags interval; elements = { ${pods.join(", ")}, ${one}, ${two} } }
    chain services { type nat hook prerouting priority -100; ${family} daddr ${clusterIP} tcp dport 80 dnat to ${a}; }
    chain own { type nat hook output priority -100; ${family} daddr ${clusterIP} tcp dport 80 dnat to ${a}; }
    chain leaving { type nat hook postrouting priority 100; ${family} saddr { ${pods.join(", ")} } ${family} daddr != @inside masquerade; }
  }`;
}

function startHost(enter: readonly string[], children: Bun.Subprocess<"pipe", "pipe", "inherit">[]): Tell {
  const program = join(import.meta.dir, "lab-host.ts");
  const child = Bun.spawn([...enter, process.execPath, program], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  children.push(child);
  const waiting = new Map<number, (answer: Answer) => void>();
  void (async () => {
    let rest = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const answer of lines.map((line): Answer => JSON.parse(line))) waiting.get(answer.id)?.(answer);
    }
  })();
  let last = 0;
  return async (verb, order = {}) => {
    last += 1;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(last, resolve);
    child.stdin.write(`${JSON.stringify({ ...order, id: last, verb })}\n`);
    child.stdin.flush();
    const { result, error } = await promise;
    if (error !== undefined) throw new Error(`${verb} ${JSON.stringify(order)}: ${error}`);
    return result;
  };
}
