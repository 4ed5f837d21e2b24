import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

const EPOLL_CLOEXEC = 0o2000000;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const EPOLL_CTL_MOD = 3;
const EPOLLIN = 0x1;
const EPOLLOUT = 0x4;
const EPOLLRDHUP = 0x2000;
const EPOLLET = 0x80000000;

/** struct epoll_event { u32 events; u64 data; } has no gap on amd64 (linux/eventpoll.h). */
const eventWords = process.arch === "x64" ? 3 : 4;
const dataWord = eventWords - 2;
/** Descriptors that one question can answer; the others are answered by the next one. */
const maxReady = 256;

const conditions = { readable: EPOLLIN | EPOLLRDHUP | EPOLLET, writable: EPOLLOUT | EPOLLET } as const;

/**
 * Tells which of a set of sockets became readable (got bytes, their end or an error) or writable (a third of the send buffer is free), without reading
 * or writing: a descriptor of epoll(7) beside Bun's own. Each change is told once, so that bytes that have to stay where they are cost nothing.
 */
export class Readiness {
  #events: number;
  #epoll: number | undefined;
  #known = new Set<number>();
  #event = new Uint32Array(eventWords);
  #ready = new Uint32Array(maxReady * eventWords);

  constructor(condition: keyof typeof conditions) {
    this.#events = conditions[condition];
  }

  /** Tells also of what is so already, and again of what was told before. False where the system does not offer it. */
  watch(fd: number): boolean {
    this.#epoll ??= libc?.epoll_create1(EPOLL_CLOEXEC) ?? -1;
    if (this.#epoll < 0) return false;
    this.#event[0] = this.#events;
    this.#event[dataWord] = fd;
    const [first, second] = this.#known.has(fd) ? [EPOLL_CTL_MOD, EPOLL_CTL_ADD] : [EPOLL_CTL_ADD, EPOLL_CTL_MOD];
    // The system forgets a descriptor by itself when it is closed, and its number may come again.
    const known = this.#control(first, fd) || this.#control(second, fd);
    if (known) this.#known.add(fd);
    return known;
  }

  forget(fd: number): void {
    if (this.#known.delete(fd)) this.#control(EPOLL_CTL_DEL, fd);
  }

  /** The descriptor is being closed: the system forgets it by itself. */
  closed(fd: number): void {
    this.#known.delete(fd);
  }

  #control(operation: number, fd: number): boolean {
    return libc?.epoll_ctl(this.#epoll ?? -1, operation, fd, ptr(this.#event)) === 0;
  }

  /** Calls `met` for at most 256 descriptors; `over` tells that there is more than readable or writable: an end or an error. Does not wait. */
  meet(met: (fd: number, over: boolean) => void): void {
    if (this.#epoll === undefined) return;
    const count = libc?.epoll_wait(this.#epoll, ptr(this.#ready), maxReady, 0) ?? 0;
    for (let at = 0; at < count * eventWords; at += eventWords) {
      const events = this.#ready[at] ?? 0;
      met(this.#ready[at + dataWord] ?? -1, (events & ~(EPOLLIN | EPOLLOUT)) !== 0);
    }
  }
}
