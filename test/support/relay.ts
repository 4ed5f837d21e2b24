import type { TcpSocket } from "./tcp.ts";
import { connectTcp, listenTcp } from "./tcp-ends.ts";

/** `up`: from the one who connected to the relay to the one the relay connected to. */
export type Direction = "up" | "down";
export type Cut = "reset" | "fin" | "freeze";

export interface Destination {
  host: string;
  port: number;
}

/** One relayed connection. */
export interface Link {
  readonly client: TcpSocket;
  readonly server: TcpSocket | undefined;
  /** Bytes forwarded so far. */
  readonly forwarded: Readonly<Record<Direction, number>>;
  readonly open: boolean;
  reset(): void;
  /** As the relay's own, for this link alone. */
  freeze(): void;
}

/** A TCP relay that misbehaves on request, for the place between two peers. */
export interface Relay extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly links: readonly Link[];
  /** Stops forwarding without closing anything: both ends see a silent peer. New connections are accepted and stay silent. */
  freeze(): void;
  /** Forwards again, what was held back first. */
  thaw(): void;
  /** Resets both ends of every open link. */
  resetAll(): void;
  /** Leads connections from now on to another destination; existing links stay. */
  leadTo(destination: Destination): void;
  /** Lets each of the links pass so many more bytes in that direction and then cuts it. Links that come later are left alone. */
  cutAfter(bytes: number, direction: Direction, how: Cut, links: readonly Link[]): void;
  /** Takes back `cutAfter`. */
  cutNothing(): void;
  /** Called with all bytes that pass, before they do. */
  tap: ((link: Link, direction: Direction, chunk: Uint8Array) => void) | undefined;
}

interface Rule {
  direction: Direction;
  bytes: number;
  how: Cut;
}

interface RelayState {
  destination: Destination;
  frozen: boolean;
  links: RelayedLink[];
  tap: Relay["tap"];
}

class RelayedLink implements Link {
  server: TcpSocket | undefined;
  frozen = false;
  readonly forwarded = { up: 0, down: 0 };
  #rule: Rule | undefined;
  /** What happened while frozen, in order. */
  readonly #held: (() => void)[] = [];

  constructor(
    readonly client: TcpSocket,
    readonly state: RelayState,
  ) {
    if (state.frozen) this.freeze();
  }

  get open(): boolean {
    return !this.client.closed || (this.server !== undefined && !this.server.closed);
  }

  arm(rule: Rule | undefined): void {
    this.#rule = rule;
    if (rule?.bytes === 0 && this.open) this.cut(rule.how);
  }

  async dial(): Promise<void> {
    const { host, port } = this.state.destination;
    try {
      this.server = await connectTcp(port, {
        host,
        keep: false,
        onData: (chunk) => this.forward("down", chunk),
        onFin: () => this.act(() => this.client.finish()),
        onClose: (socket) => this.act(() => this.spread(socket, this.client)),
      });
    } catch {
      this.client.abort();
      return;
    }
    if (this.frozen) this.server.pause();
    else this.client.resume();
    if (this.client.closed) this.spread(this.client, this.server);
  }

  /** Does it now, or when the link forwards again. */
  act(action: () => void): void {
    if (this.frozen) this.#held.push(action);
    else action();
  }

  spread(ended: TcpSocket, other: TcpSocket | undefined): void {
    if (ended.reset !== undefined) other?.abort();
  }

  forward(direction: Direction, chunk: Uint8Array): void {
    if (this.frozen) {
      const copy = new Uint8Array(chunk);
      this.#held.push(() => this.forward(direction, copy));
      return;
    }
    const rule = this.#rule;
    if (rule === undefined || rule.direction !== direction) {
      this.pass(direction, chunk);
      return;
    }
    const part = chunk.subarray(0, rule.bytes);
    this.#rule = { ...rule, bytes: rule.bytes - part.byteLength };
    this.pass(direction, part);
    if (part.byteLength < rule.bytes) return;
    this.cut(rule.how);
    if (part.byteLength < chunk.byteLength && rule.how === "freeze")
      this.forward(direction, chunk.subarray(part.byteLength));
  }

  pass(direction: Direction, chunk: Uint8Array): void {
    const [from, to] = direction === "up" ? [this.client, this.server] : [this.server, this.client];
    if (to === undefined) return;
    this.state.tap?.(this, direction, chunk);
    this.forwarded[direction] += chunk.byteLength;
    const sent = to.send(chunk).catch(() => {});
    if (to.unsent === 0) return;
    from?.pause();
    void sent.then(() => {
      if (!this.frozen && from?.closed === false) from.resume();
    });
  }

  cut(how: Cut): void {
    if (how === "freeze") this.freeze();
    else if (how === "reset") this.reset();
    else {
      this.client.finish();
      this.server?.finish();
    }
  }

  reset(): void {
    this.client.abort();
    this.server?.abort();
  }

  freeze(): void {
    this.frozen = true;
    this.client.pause();
    this.server?.pause();
  }

  thaw(): void {
    this.frozen = false;
    for (const action of this.#held.splice(0)) action();
    this.server?.resume();
    if (this.server !== undefined) this.client.resume();
  }
}

export async function startRelay(destination: Destination, host = "127.0.0.1"): Promise<Relay> {
  const state: RelayState = { destination, frozen: false, links: [], tap: undefined };
  const links = new Map<TcpSocket, RelayedLink>();
  const server = await listenTcp({
    host,
    keep: false,
    onOpen: (client) => {
      client.pause();
      const link = new RelayedLink(client, state);
      links.set(client, link);
      state.links.push(link);
      if (!state.frozen && !client.closed) void link.dial();
    },
    onData: (chunk, client) => links.get(client)?.forward("up", chunk),
    onFin: (client) => {
      const link = links.get(client);
      link?.act(() => link.server?.finish());
    },
    onClose: (client) => {
      const link = links.get(client);
      link?.act(() => link.spread(client, link.server));
    },
  });
  return {
    host,
    port: server.port,
    links: state.links,
    freeze: () => {
      state.frozen = true;
      for (const link of state.links) link.freeze();
    },
    thaw: () => {
      state.frozen = false;
      for (const link of state.links) {
        link.thaw();
        if (link.server === undefined && !link.client.closed) void link.dial();
      }
    },
    resetAll: () => {
      for (const link of state.links) link.reset();
    },
    leadTo: (next) => {
      state.destination = next;
    },
    cutAfter: (bytes, direction, how, chosen) => {
      for (const link of state.links) if (chosen.includes(link)) link.arm({ bytes, direction, how });
    },
    cutNothing: () => {
      for (const link of state.links) link.arm(undefined);
    },
    get tap() {
      return state.tap;
    },
    set tap(tap) {
      state.tap = tap;
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      for (const link of state.links) link.reset();
    },
  };
}
