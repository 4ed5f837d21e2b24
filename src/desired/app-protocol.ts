/**
 * Of every port. A service mesh that finds out the protocol by itself waits for the client's first bytes; the proxy speaks first on its rendezvous port, and so
 * do many databases behind the consumer port.
 */
export const appProtocol = "tcp";
