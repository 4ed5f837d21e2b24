import { haproxy, haproxyTls } from "./haproxy.ts";
import { encryptedSubject, subject } from "./metrics.ts";
import { OptionError, type Options } from "./options.ts";
import { knowsEncryption, netaminity } from "./ours.ts";
import { bore, direct, type Product } from "./products.ts";
import { rathole, ratholeNoise, ratholeTls } from "./rathole.ts";
import { type Described, measures, type Row } from "./rows.ts";
import { copyExecutable, haproxyExecutable, netaminityExecutable, opensslExecutable, peer } from "./tools.ts";

interface Offer extends Described {
  make(): Promise<Product>;
}

/** Everything that can be measured without a variant; executables are built, installed or copied to `folder` when they are asked for. */
function offers(folder: string): Offer[] {
  let executable: Promise<string> | undefined;
  const build = async () => {
    executable ??= netaminityExecutable(folder);
    return { name: subject, executable: await executable, environment: {} };
  };
  const plain = (name: string, make: () => Promise<Product>): Offer => ({ name, encrypted: false, ours: false, make });
  const encrypted = (name: string, make: () => Promise<Product>): Offer => ({ ...plain(name, make), encrypted: true });
  return [
    plain("direct", async () => direct),
    plain("bore", async () => bore(await peer("bore"))),
    plain("rathole", async () => rathole(await peer("rathole"))),
    plain("haproxy", async () => haproxy(await haproxyExecutable())),
    { ...plain(subject, async () => netaminity(await build(), false)), ours: true },
    encrypted("rathole-tls", async () => ratholeTls(await peer("rathole"), await opensslExecutable())),
    encrypted("rathole-noise", async () => ratholeNoise(await peer("rathole"))),
    encrypted("haproxy-tls", async () => haproxyTls(await haproxyExecutable(), await opensslExecutable())),
    { ...encrypted(encryptedSubject, async () => netaminity(await build(), true)), ours: true },
  ];
}

/** The products that the options ask for, in the order of their columns, without those that none of the rows measures. */
export async function chooseProducts(options: Options, rows: readonly Row[], folder: string): Promise<Product[]> {
  const all = offers(folder);
  const names = all.map((offer) => offer.name);
  const unknown = options.products?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new OptionError(`--products: "${unknown}" given, accepted are ${names.join(", ")}`);
  const isMeasured = (product: Described) => rows.some((row) => measures(row, product, 0));
  const wanted = all.filter((offer) => (options.products?.includes(offer.name) ?? true) && isMeasured(offer));
  const chosen: Product[] = [];
  for (const offer of wanted) chosen.push(await offer.make());
  for (const { name, executable, environment } of options.variants) {
    if ([name, `${name}-tls`].some((taken) => names.includes(taken)))
      throw new OptionError(`--variant: the name "${name}" is taken`);
    const build = { name, executable: await copyExecutable(executable, folder, name), environment };
    const both = [netaminity(build, false), netaminity(build, true)].filter(isMeasured);
    // An older build without encryption is compared where it can be.
    const knows = both.some((product) => product.encrypted) && (await knowsEncryption(build.executable));
    chosen.push(...both.filter((product) => knows || !product.encrypted));
  }
  return chosen;
}
