import { expect, setDefaultTimeout, test } from "bun:test";
import { direct, type TunnelKind, tunnelOf } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { openRig } from "../support/tunnel-rig.ts";
import { playScript, randomFrom, randomScript, shortSizes, sizes } from "./exchange.ts";

setDefaultTimeout(60_000);

/** `NETAMINITY_SEED=N` repeats a failed run, `NETAMINITY_EXCHANGES=N` plays more of them. */
const firstSeed = Number(process.env.NETAMINITY_SEED ?? Math.floor(Math.random() * 2 ** 31));
const exchanges = Number(process.env.NETAMINITY_EXCHANGES ?? 80);

function sameAsDirect(kind: TunnelKind): void {
  test(`random exchanges through ${kind.name} look the same at both ends as on a direct connection`, async () => {
    await using plain = await openRig(direct);
    await using tunnel = await openRig(kind, {}, { poolMin: 1 });
    for (let seed = firstSeed; seed < firstSeed + exchanges; seed += 1) {
      // Short ones leave their connection to the next one, long ones turn raw.
      const script = randomScript(randomFrom(seed), 24, seed % 2 === 0 ? sizes : shortSizes);
      const outcomes = [];
      for (const rig of [plain, tunnel]) {
        const { consumer, server } = await rig.pair();
        outcomes.push(
          await playScript(consumer, server, script, seed).catch((cause: unknown) => {
            throw new Error(`NETAMINITY_SEED=${seed}: ${JSON.stringify(script)}`, { cause });
          }),
        );
      }
      const [wanted, got] = outcomes;
      expect(got, `NETAMINITY_SEED=${seed}: ${JSON.stringify(script)}`).toEqual(wanted);
    }
  }, 120_000);
}

sameAsDirect(direct);
sameAsDirect(tunnelOf(inProcess));
sameAsDirect(tunnelOf(inProcess, "required"));
sameAsDirect(tunnelOf(compiled));
sameAsDirect(tunnelOf(compiled, "required"));
