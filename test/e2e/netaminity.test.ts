/** The whole product on real kubelets: one cluster with a split network, and a second one that only dials out. */
import { afterAll, beforeAll } from "bun:test";
import { printTable, type Site, startSite } from "../support/e2e/site.ts";
import { badChanges } from "./bad-changes.ts";
import { byHand } from "./by-hand.ts";
import { dashboard } from "./dashboard.ts";
import { failover } from "./failover.ts";
import { patternOne } from "./pattern-one.ts";
import { placement } from "./placement.ts";
import { publish } from "./publish.ts";
import { rollouts } from "./rollouts.ts";
import { scheduling } from "./scheduling.ts";
import { twoClusters } from "./two-clusters.ts";
import { upgrade } from "./upgrade.ts";
import { wholeIp } from "./whole-ip.ts";

let site: Site | undefined;

beforeAll(async () => {
  site = await startSite();
}, 300_000);

afterAll(async () => {
  if (site === undefined) return;
  printTable(site);
  await site[Symbol.asyncDispose]();
}, 60_000);

const siteNow = (): Site => {
  if (site === undefined) throw new Error("the cluster did not start");
  return site;
};

patternOne(siteNow);
byHand(siteNow);
publish(siteNow);
scheduling(siteNow);
rollouts(siteNow);
upgrade(siteNow);
badChanges(siteNow);
failover(siteNow);
dashboard(siteNow);
wholeIp(siteNow);
placement(siteNow);
twoClusters(siteNow);
