/** Every case runs against one real control plane, which is started by the first and stopped after the last. */
import { stopPlaneAfterAll } from "./plane.ts";
import "./definition.cases.ts";
import "./tunnel.cases.ts";
import "./patterns.cases.ts";
import "./children.cases.ts";
import "./status.cases.ts";
import "./gitops.cases.ts";
import "./spec.cases.ts";
import "./encryption.cases.ts";
import "./active.cases.ts";
import "./placement.cases.ts";
import "./apart.cases.ts";
import "./ownership.cases.ts";
import "./releases.cases.ts";
import "./rest.cases.ts";
import "./rollouts.cases.ts";
import "./rights.cases.ts";
import "./faults.cases.ts";
import "./doctor.cases.ts";
import "./kubeconfig.cases.ts";
import "./examples.cases.ts";
import "./platforms.cases.ts";
import "./process.cases.ts";
import "./node.cases.ts";

stopPlaneAfterAll();
