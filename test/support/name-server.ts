/** A DNS server that knows some names and answers NXDOMAIN to others; one without `names` hears and says nothing. Answers questions for A records only. */
export interface NameServer extends AsyncDisposable {
  /** Questions that came so far. */
  readonly asked: number;
}

const headerLength = 12;
const noSuchName = 3;

export async function startNameServer(
  hostname: string,
  names: Record<string, string> | undefined,
): Promise<NameServer> {
  let asked = 0;
  const socket = await Bun.udpSocket({
    hostname,
    port: 53,
    socket: {
      data: (from, question, port, address) => {
        asked += 1;
        if (names !== undefined) from.send(answerTo(question, names), port, address);
      },
    },
  });
  return {
    get asked() {
      return asked;
    },
    [Symbol.asyncDispose]: async () => socket.close(),
  };
}

/** RFC 1035 section 4: the question comes back, with the address behind it when the name is known and an A record (type 1) was asked for. */
function answerTo(question: Buffer, names: Record<string, string>): Buffer {
  const labels: string[] = [];
  let at = headerLength;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  const address = names[labels.join(".")];
  const isForA = question.readUInt16BE(at + 1) === 1;
  const answers = address !== undefined && isForA ? 1 : 0;
  const header = Buffer.alloc(headerLength);
  header.writeUInt16BE(question.readUInt16BE(0), 0);
  // An answer, recursion desired and available.
  header.writeUInt16BE(0x8180 | (address === undefined ? noSuchName : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers, 6);
  const record = Buffer.from([
    0xc0,
    headerLength,
    0,
    1,
    0,
    1,
    0,
    0,
    0,
    1,
    0,
    4,
    ...(address ?? "").split(".").map(Number),
  ]);
  const parts = [header, question.subarray(headerLength, at + 5)];
  return Buffer.concat(answers > 0 ? [...parts, record] : parts);
}
