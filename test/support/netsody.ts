import type { Entry } from "../../src/publish/netsody-plan.ts";

// A network's file as a person keeps it, valid by default.

/** 64 hexadecimal digits that end with the number. */
export const pkOf = (number: number) => number.toString(16).padStart(64, "0");

export function makeBase(hosts: readonly string[], more = ""): string {
  const nodes = hosts.map(
    (hostname, index) =>
      `[[node]]\npk = "${pkOf(index + 1)}"\nip = "10.182.${130 + Math.floor(index / 250)}.${(index % 250) + 1}"\nhostname = "${hostname}"\ngroups = ["k8s"]\n`,
  );
  return `network = "10.182.128.0/18" # the overlay\nname = "mesh"\n\n${nodes.join("\n")}\n[[policy]]\nsource_groups = ["k8s"]\ndestination_groups = ["k8s"]\n${more}`;
}

export function makeEntry(given: Partial<Entry> = {}): Entry {
  return { node: "a", index: 0, dest: "10.42.0.0/24", gw: pkOf(1), ...given };
}
