import { type Stream, StreamError } from "../stream.ts";
import type { Backend } from "./backend.ts";

/** What becomes of a consumer is told to its proxy in the proxy's protocol. */
export interface Answer {
  /** The backend is connected: nothing of it has been sent yet. */
  connected(): void;
  /** It is not. */
  failed(cause: StreamError): void;
}

/** Connects the backend for one consumer and joins both. */
export async function serve(stream: Stream, backend: Backend, answer: Answer): Promise<void> {
  try {
    const right = await backend.connect(stream.from, stream.to);
    if (stream.isOver) {
      right.reset();
      return;
    }
    answer.connected();
    stream.join(right);
  } catch (cause) {
    if (!(cause instanceof StreamError)) throw cause;
    if (!stream.isOver) answer.failed(cause);
    stream.fail(cause);
  }
}
