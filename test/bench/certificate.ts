import { join } from "node:path";
import { runToEnd } from "./process.ts";

/** Files of one key with a self-signed certificate, for products that want them made by hand. */
export interface Certificate {
  /** Name that the certificate is for. */
  name: string;
  /** PEM: the certificate, and it together with its key. */
  certificate: string;
  bundle: string;
  /** PKCS#12 with both, and its password. */
  archive: string;
  password: string;
}

/** Seconds that a call of openssl may take. */
const patience = 30;

/** Makes a certificate in `folder`. Its key is of the kind that ours has too (P-256): handshakes with RSA cost several times as much. */
export async function makeCertificate(openssl: string, folder: string): Promise<Certificate> {
  const name = "bench.invalid";
  const [key, certificate, bundle, archive] = ["key.pem", "certificate.pem", "bundle.pem", "identity.pfx"].map((file) =>
    join(folder, file),
  ) as [string, string, string, string];
  const password = "bench";
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"];
  const names = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
  await runToEnd([openssl, "req", "-x509", ...kind, ...names, "-keyout", key, "-out", certificate], patience);
  await Bun.write(bundle, (await Bun.file(certificate).text()) + (await Bun.file(key).text()));
  const content = ["-inkey", key, "-in", certificate, "-passout", `pass:${password}`];
  await runToEnd([openssl, "pkcs12", "-export", ...content, "-out", archive], patience);
  return { name, certificate, bundle, archive, password };
}
