import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { errorText } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import { type Secrets, suspicionAbout } from "../../secret.ts";
import { connectFirst, firstOf } from "../net/dial.ts";
import type { Way } from "../net/way.ts";
import { type Greeting, greet, RefusedByProxy } from "./attach.ts";
import { failureOf } from "./failure.ts";
import type { TargetSession } from "./target-core.ts";

/** Milliseconds for each step of a look. A session that is lost meanwhile does not wait for it. */
const stepTimeout = 2000;
/**
 * Milliseconds after which a look is begun anew beside the one that waits, when the session is doubted: all packets of the first may go to a proxy that is
 * gone, while the endpoint has led to another one since.
 */
const lookAgain = 300;

export interface LookoutOptions {
  /** Rendezvous port of the proxy. */
  proxyEndpoint: HostPort;
  secrets: Secrets;
  log: Log;
  metrics: AgentMetrics;
}

/** Looks, while there is a session, where the proxy's endpoint leads. */
export class Lookout {
  /** Looks in a row that came to nothing. */
  #failed = 0;

  constructor(
    readonly options: LookoutOptions,
    readonly way: Way,
    /** Opens a session with what answers there now. */
    readonly attach: (greeting: Greeting, secret: string, cut: AbortSignal) => Promise<void>,
  ) {}

  /** The proxy that we have a session with keeps it, also when its name has further addresses. Does not reject. */
  async look(session: TargetSession, cut: AbortSignal): Promise<void> {
    const { proxyEndpoint, secrets } = this.options;
    if (session.instance === undefined) return;
    const isCurrentSecret = session.secret === secrets.current[0];
    try {
      const addresses = await this.way.resolve(proxyEndpoint.host, stepTimeout);
      const first = addresses.includes(session.address) ? [session.address] : addresses;
      const { connect } = this.way;
      const begin = async (signal?: AbortSignal) =>
        greet(await connectFirst(first, proxyEndpoint.port, stepTimeout, { connect, ...(signal && { signal }) }));
      const greeting = await (session.isDoubted ? firstOf(begin, lookAgain, ({ wire }) => wire.reset()) : begin());
      // An attachment that comes late would take the place of the one that is made instead.
      cut.addEventListener("abort", () => greeting.wire.reset());
      const isSame = greeting.instance === session.instance;
      if (!isSame && !cut.aborted) session.strayed();
      if (cut.aborted || (isSame && isCurrentSecret)) greeting.wire.reset();
      else await this.attach(greeting, secrets.current[0] ?? session.secret, cut);
      this.#failed = 0;
    } catch (cause) {
      if (!cut.aborted) this.#missed(session, cause as Error);
    }
  }

  /** The session itself tells whether it still works. But a proxy that is to take its place may never get one: said at the second miss in a row, and again after twice as many. */
  #missed(session: TargetSession, cause: Error): void {
    const { proxyEndpoint, secrets, log, metrics } = this.options;
    this.#failed += 1;
    const isRefusal = cause instanceof RefusedByProxy;
    if (isRefusal) metrics.authFailures.inc();
    if (this.#failed === 2) session.strayed();
    if (this.#failed < 2 || !Number.isInteger(Math.log2(this.#failed))) return;
    log.warn(`${failureOf(cause).message} at the endpoint now; the session that is up goes on`, {
      proxy: formatHostPort(proxyEndpoint),
      reason: errorText(cause),
      suspicion: isRefusal ? suspicionAbout(secrets) : undefined,
    });
  }
}
