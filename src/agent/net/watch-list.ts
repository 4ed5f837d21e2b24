import { Readiness } from "./readiness.ts";

/** Descriptors of a flow's two sockets. */
export interface Ends {
  source: number;
  /** Undefined when it is not the kernel that tells of room. */
  sink: number | undefined;
}

/** Flows whose sources are watched for bytes, and, while they are full, their sinks for room. */
export class WatchList<Flow> {
  #sources = new Readiness("readable");
  #sinks = new Readiness("writable");
  #bySource = new Map<number, Flow>();
  #bySink = new Map<number, Flow>();

  get size(): number {
    return this.#bySource.size;
  }

  /** Tells also of bytes that wait already. False where the system does not offer it. */
  add(flow: Flow, { source, sink }: Ends): boolean {
    if (!this.#sources.watch(source)) return false;
    this.#bySource.set(source, flow);
    if (sink !== undefined) this.#bySink.set(sink, flow);
    return true;
  }

  /** The sink is full: tells when it is not. */
  awaitRoom({ sink }: Ends): boolean {
    return sink !== undefined && this.#sinks.watch(sink);
  }

  remove(ends: Ends): void {
    this.#drop(ends);
    this.#sources.forget(ends.source);
    if (ends.sink !== undefined) this.#sinks.forget(ends.sink);
  }

  /** The sockets are being closed: that needs no call. */
  closed(ends: Ends): void {
    this.#drop(ends);
    this.#sources.closed(ends.source);
    if (ends.sink !== undefined) this.#sinks.closed(ends.sink);
  }

  #drop({ source, sink }: Ends): void {
    this.#bySource.delete(source);
    if (sink !== undefined) this.#bySink.delete(sink);
  }

  /** Tells of what has come: bytes (`over`: also the source's end or an error), room. Does not wait. */
  meet(hasBytes: (flow: Flow, over: boolean) => void, hasRoom: (flow: Flow) => void): void {
    if (this.size === 0) return;
    this.#sources.meet((fd, over) => {
      const flow = this.#bySource.get(fd);
      if (flow !== undefined) hasBytes(flow, over);
    });
    this.#sinks.meet((fd) => {
      const flow = this.#bySink.get(fd);
      if (flow !== undefined) hasRoom(flow);
    });
  }
}
