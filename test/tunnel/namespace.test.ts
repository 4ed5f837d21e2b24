import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

setDefaultTimeout(120_000);

/** The first server is silent, the second one good; the port range holds nothing but one port, so that a connection to it meets itself. */
const preparation = `
ip link set lo up
ip route add unreachable 10.3.0.0/24
ip route add prohibit 10.2.0.0/24
ip route add blackhole 10.4.0.0/24
mount --bind "$1" /etc/resolv.conf
shift
exec "$@"`;

test("routes, ports and name servers of a network of its own", async () => {
  const folder = await mkdtemp(join(tmpdir(), "netaminity-names-"));
  try {
    const resolvers = join(folder, "resolv.conf");
    await writeFile(resolvers, "nameserver 127.0.0.9\nnameserver 127.0.0.8\n");
    const inside = [process.execPath, "test", "--timeout", "60000", "./test/tunnel/namespace.cases.ts"];
    // A user namespace gives the rights for the other two to whoever runs this.
    const child = Bun.spawn(["unshare", "-rnm", "sh", "-ec", preparation, "sh", resolvers, ...inside], {
      cwd: join(import.meta.dir, "../.."),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect(code, `${output}${errors}`).toBe(0);
    expect(errors).toContain(" 0 fail");
  } finally {
    await rm(folder, { recursive: true });
  }
});
