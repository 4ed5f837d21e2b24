/** The run's own certificate authority, made with openssl; EC keys, because they cost next to nothing. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { run as runCommand } from "./command.ts";

export interface CertificateAuthority {
  readonly certificateFile: string;
  readonly certificate: string;
  readonly keyFile: string;
  readonly folder: string;
}

export interface Certificate {
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** User name for the API server. */
  readonly commonName: string;
  /** Group for the API server. */
  readonly organization?: string;
  /** Such as `DNS:localhost` or `IP:127.0.0.1`; makes it usable for a server. */
  readonly names?: readonly string[];
}

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"];

export async function createCertificateAuthority(folder: string): Promise<CertificateAuthority> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const certificateFile = join(folder, "ca.crt");
  const keyFile = join(folder, "ca.key");
  const extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"];
  await runCommand([
    ...["openssl", "req", "-x509", ...newKey, "-keyout", keyFile, "-out", certificateFile, "-subj", "/CN=cluster-ca"],
    ...extensions.flatMap((extension) => ["-addext", extension]),
  ]);
  return { certificateFile, keyFile, folder, certificate: await readFile(certificateFile, "utf8") };
}

/** Writes `FILE.crt` and `FILE.key` beside the authority's own files. */
export async function issueCertificate(
  authority: CertificateAuthority,
  file: string,
  request: CertificateRequest,
): Promise<Certificate> {
  const certificateFile = join(authority.folder, `${file}.crt`);
  const keyFile = join(authority.folder, `${file}.key`);
  const organization = request.organization === undefined ? "" : `/O=${request.organization}`;
  const extensions = [
    "basicConstraints=critical,CA:FALSE",
    "keyUsage=critical,digitalSignature,keyEncipherment",
    "extendedKeyUsage=clientAuth,serverAuth",
    ...(request.names === undefined ? [] : [`subjectAltName=${request.names.join(",")}`]),
  ];
  await runCommand([
    ...["openssl", "req", "-x509", ...newKey, "-CA", authority.certificateFile, "-CAkey", authority.keyFile],
    ...["-keyout", keyFile, "-out", certificateFile, "-subj", `${organization}/CN=${request.commonName}`],
    ...extensions.flatMap((extension) => ["-addext", extension]),
  ]);
  const [certificate, key] = await Promise.all([readFile(certificateFile, "utf8"), readFile(keyFile, "utf8")]);
  return { certificateFile, keyFile, certificate, key };
}

/** The key pair that signs and checks ServiceAccount tokens. */
export async function createSigningKey(folder: string): Promise<{ keyFile: string; publicKeyFile: string }> {
  const keyFile = join(folder, "service-account.key");
  const publicKeyFile = join(folder, "service-account.pub");
  await runCommand(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", keyFile]);
  await runCommand(["openssl", "ec", "-in", keyFile, "-pubout", "-out", publicKeyFile]);
  return { keyFile, publicKeyFile };
}
