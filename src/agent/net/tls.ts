import type { Socket, SocketHandler, TLSOptions } from "bun";
import { errorCode, errorText } from "../../errors.ts";
import { type Identity, makeIdentity } from "./certificate.ts";

/** TLS could not be had on a connection. */
export class TlsFailed extends Error {
  override readonly name = "TlsFailed";
}

/** Milliseconds that a TLS handshake may take. */
const tlsTimeout = 3000;

/** Channel binding for TLS 1.3 (RFC 9266): 32 bytes that both ends of one connection know, and nobody who stands between two. */
const bindingLabel = "EXPORTER-Channel-Binding";
const bindingLength = 32;
const noContext = Buffer.alloc(0);

/** The lowest version that is accepted (RFC 8446, section 4.2.1). */
const tls13 = 0x0304;
/** SSL_OP_NO_TICKET of OpenSSL: nobody resumes, so tickets would be bytes for nothing. */
const noTickets = 0x4000;

export type Side = "client" | "server";

/** Bun takes these, its types do not say so yet. */
type Options = TLSOptions & { minVersion: number };
type Upgrade<Data> = { tls: Options; isServer: boolean; data: Data; socket: SocketHandler<Data> };
type Upgradable<Data> = Socket<Data> & {
  upgradeTLS(options: Upgrade<Data>): [raw: Socket<Data>, tls: Socket<Data>];
  exportKeyingMaterial(length: number, label: string, context: Uint8Array): Uint8Array | undefined;
  getTLSVersion(): string;
};

/** Whose certificate this is does not matter: see `TlsHandshake`. */
const clientOptions: Options = { rejectUnauthorized: false, minVersion: tls13 };

let identity: Identity | undefined;

/** One key per process, made when the first peer asks for TLS. */
function serverOptions(): Options {
  identity ??= makeIdentity();
  return {
    ...identity,
    requestCert: false,
    rejectUnauthorized: false,
    minVersion: tls13,
    secureOptions: noTickets,
  };
}

/**
 * Starts TLS on a connected socket. What is gone from then on is the socket that was given: `raw` stands for it and goes on to report, the
 * ciphertext too (measured with Bun 1.4.5).
 */
export function upgrade<Data>(
  socket: Socket<Data>,
  side: Side,
  data: Data,
  handlers: SocketHandler<Data>,
): { raw: Socket<Data>; tls: Socket<Data> } {
  const isServer = side === "server";
  const tls = isServer ? serverOptions() : clientOptions;
  const [raw, secured] = (socket as Upgradable<Data>).upgradeTLS({ tls, isServer, data, socket: handlers });
  return { raw, tls: secured };
}

/** How Bun reports the end of a handshake. */
export interface HandshakeReport {
  success: boolean;
  cause: Error | null;
}

/** Codes of handshakes that failed; a certificate that nobody judged is reported in the same way, with the code of that judgement. */
const failures: readonly (string | undefined)[] = ["ECONNRESET", "EPROTO"];

/**
 * The channel binding of a TLS socket whose handshake is over. Throws when it has failed. To ask whether there are keys is not enough: a server
 * has them before it has heard the client out (measured with Bun 1.4.5).
 */
function bindingOf<Data>(socket: Socket<Data>, side: Side, { success, cause }: HandshakeReport): Uint8Array {
  const tls = socket as Upgradable<Data>;
  const failure = new TlsFailed(cause?.message ?? "the handshake failed", { cause });
  if (!success && (side === "server" || failures.includes(errorCode(cause)))) throw failure;
  let binding: Uint8Array | undefined;
  try {
    binding = tls.exportKeyingMaterial(bindingLength, bindingLabel, noContext);
  } catch {
    throw failure;
  }
  if (binding?.byteLength !== bindingLength) throw failure;
  const version = tls.getTLSVersion();
  if (version !== "TLSv1.3") throw new TlsFailed(`${version} instead of TLSv1.3`);
  return new Uint8Array(binding);
}

/** A TLS handshake on its way; it ends once. */
export class TlsHandshake {
  /** Of a handshake that went well. */
  binding = noContext as Uint8Array;
  #result = Promise.withResolvers<void>();
  #ended: (cause: TlsFailed | undefined) => void;
  #limit: Timer;

  /** `ended` is told before the result settles; without a cause when it went well. */
  constructor(
    readonly side: Side,
    ended: (cause: TlsFailed | undefined) => void,
  ) {
    this.#ended = ended;
    this.#limit = setTimeout(
      () => this.fail(new TlsFailed(`no end of the handshake within ${tlsTimeout} ms`)),
      tlsTimeout,
    );
  }

  /** Rejects with TlsFailed. */
  get result(): Promise<void> {
    return this.#result.promise;
  }

  /** Bun reports the end of the handshake. */
  over<Data>(socket: Socket<Data>, report: HandshakeReport): void {
    try {
      this.binding = bindingOf(socket, this.side, report);
    } catch (failure) {
      this.fail(failure);
      return;
    }
    clearTimeout(this.#limit);
    this.#ended(undefined);
    this.#result.resolve();
  }

  fail(cause: unknown): void {
    const failure = cause instanceof TlsFailed ? cause : new TlsFailed(errorText(cause), { cause });
    clearTimeout(this.#limit);
    this.#ended(failure);
    this.#result.reject(failure);
  }
}
