import { Fingerprints } from "../fingerprint.ts";
import type { AgentMetrics } from "../metrics.ts";
import type { Secrets } from "../secret.ts";

interface Measured {
  secrets: Secrets;
  /** Secrets of the sessions that take new streams, one for each session. */
  sessions(): readonly string[];
}

/** Says which secrets a role has and uses. A fingerprint is worked out when somebody looks at the metrics, once for each secret. */
export function measureSecrets(metrics: AgentMetrics, { secrets, sessions }: Measured): void {
  const fingerprints = new Fingerprints(16);
  metrics.secrets.read = async () => {
    const [use, previous] = await Promise.all(secrets.current.map((secret) => fingerprints.of(secret)));
    const rows = [
      { use: "current", fingerprint: use },
      { use: "previous", fingerprint: previous },
    ];
    return rows.flatMap(({ use, fingerprint }) => (fingerprint === undefined ? [] : [{ use, fingerprint }]));
  };
  metrics.sessionSecrets.read = async () => {
    const all = await Promise.all(sessions().map((secret) => fingerprints.of(secret)));
    return all.map((fingerprint) => ({ fingerprint }));
  };
}
