import { formatHostPort, type HostPort } from "../endpoint.ts";
import { fetchThrough } from "../kube/http-proxy.ts";

/** What came of one question: `refused` is a certain no, `silent` may be the way there. */
export type Outcome = "answered" | "refused" | "silent";

interface Question {
  resolve: (outcome: Outcome) => void;
  cancel: () => void;
}

/** Milliseconds in which an answer is read that came before its time was over. */
const grace = 20;
/** Bytes of an answer that are kept at most. */
const longest = 16 * 1024;
const decoder = new TextDecoder("latin1");

/**
 * One `GET /healthz` on a connection of its own; `timeout` in milliseconds. Does not reject. Never through an HTTP proxy that the environment names, which has no way to
 * pods.
 */
export async function askOnce(address: HostPort, timeout: number): Promise<Outcome> {
  const late = new AbortController();
  const cancel = whenLate(timeout, () => late.abort());
  const { signal } = late;
  try {
    const url = `http://${formatHostPort(address)}/healthz`;
    const response = await fetchThrough(undefined, url, { signal, redirect: "manual", keepalive: false });
    await response.body?.cancel();
    return response.status === 200 ? "answered" : "refused";
  } catch {
    return signal.aborted ? "silent" : "refused";
  } finally {
    cancel();
  }
}

/** Calls `late` after so many milliseconds, unless that is cancelled. What came while this process was busy is read before. */
function whenLate(timeout: number, late: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(late, grace);
  }, timeout);
  return () => clearTimeout(timer);
}

/**
 * Asks one pod that answers the same on a connection that is kept between questions, so that the end of the agent is known at once and not with the next one. Only for such
 * pods: an attempt that nobody answers keeps its descriptor for two minutes, which one of `fetch` does not.
 */
export class PodConnection {
  #socket: Bun.Socket | undefined;
  #question: Question | undefined;
  #answer = "";
  #closed = false;

  constructor(
    readonly address: HostPort,
    /** The kept connection has ended, though nothing was asked. */
    readonly ended: () => void,
  ) {}

  /** One question at a time; `timeout` in milliseconds. Does not reject. */
  ask(timeout: number): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const question: Question = { resolve, cancel: whenLate(timeout, () => this.#finish("silent")) };
    this.#question = question;
    this.#answer = "";
    if (this.#socket === undefined) void this.#connect();
    else this.#send();
    return promise;
  }

  close(): void {
    this.#closed = true;
    this.#drop();
    this.#finish("silent");
  }

  async #connect(): Promise<void> {
    const { host, port } = this.address;
    const asked = this.#question;
    const isCurrent = () => !this.#closed && this.#question === asked;
    try {
      await Bun.connect({
        hostname: host,
        port,
        socket: {
          open: (socket) => {
            if (!isCurrent()) {
              socket.terminate();
              return;
            }
            this.#socket = socket;
            this.#send();
          },
          data: (socket, chunk) => {
            if (socket === this.#socket) this.#read(chunk);
          },
          close: (socket) => {
            if (socket === this.#socket) this.#lost();
          },
          error: (socket) => {
            if (socket === this.#socket) this.#lost();
          },
          connectError: () => {
            if (isCurrent()) this.#finish("refused");
          },
        },
      });
    } catch {
      if (isCurrent()) this.#finish("refused");
    }
  }

  #send(): void {
    this.#socket?.write(
      `GET /healthz HTTP/1.1\r\nHost: ${formatHostPort(this.address)}\r\nUser-Agent: netaminity-operator\r\n\r\n`,
    );
  }

  #read(chunk: Uint8Array): void {
    this.#answer += decoder.decode(chunk);
    const [head, body] = this.#answer.split("\r\n\r\n", 2);
    if (this.#answer.length > longest) {
      this.#drop();
      this.#finish("refused");
    }
    if (head === undefined || body === undefined) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN);
    const isWhole = body.length >= length;
    const isLast = Number.isNaN(length) || /\r\nconnection: *close/i.test(head);
    if (!isWhole && !isLast) return;
    // What else would come on it is nobody's business.
    if (isLast) this.#drop();
    this.#finish(/^HTTP\/1\.[01] 200\b/.test(head) ? "answered" : "refused");
  }

  #lost(): void {
    this.#socket = undefined;
    if (this.#question !== undefined) this.#finish("refused");
    else if (!this.#closed) this.ended();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.terminate();
  }

  #finish(outcome: Outcome): void {
    const question = this.#question;
    if (question === undefined) return;
    this.#question = undefined;
    question.cancel();
    // Whoever did not answer on this connection is asked on another one.
    if (outcome === "silent") this.#drop();
    question.resolve(outcome);
  }
}
