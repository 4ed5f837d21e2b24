import type { Line, PairPicture, PodPicture } from "../picture-types.ts";
import { encryptionWord, rate, streamWord } from "./words.ts";

/** The way of a connection, from the consumers over the border to the backend. A Target dials over the border; nobody dials the other way. */
export function Scene({ line }: { line: Line }) {
  const { kind, consumers, backend, pairs, rates } = line;
  return (
    <section class="scene" aria-label={`The way from consumers to the backend of ${line.name}`}>
      <End
        title="Consumers"
        text={kind === "Target" ? "in the Proxy's cluster" : (consumers ?? "no Service is asked for")}
      >
        ↓ {rate(rates?.toConsumer)} ↑ {rate(rates?.toBackend)}
      </End>
      <div class="pairs">
        {pairs.length === 0 && <p class="none">no pairs</p>}
        {pairs.map((pair) => (
          <Pair key={pair.name} pair={pair} word={encryptionWord(line)} />
        ))}
      </div>
      <End title="Backend" text={kind === "Proxy" ? "of its Target, elsewhere" : (backend ?? "")} />
    </section>
  );
}

function End({ title, text, children }: { title: string; text: string; children?: preact.ComponentChildren }) {
  return (
    <div class="end">
      <b>{title}</b>
      <span class="endpoint">{text}</span>
      {children !== undefined && <small>{children}</small>}
    </div>
  );
}

function Pair({ pair, word }: { pair: PairPicture; word: string }) {
  // A pod is ready while it has a session, which Kubernetes tells even where nobody may ask the pods.
  const isMet = [...(pair.targets ?? []), ...(pair.proxies ?? [])].some(({ isReady }) => isReady);
  return (
    <div class="pair">
      <Side title={`Proxy ${pair.name}`} pods={pair.proxies} elsewhere="its Proxy is in another cluster" />
      <div class={`border ${isMet ? "met" : "unmet"}`}>
        <span class="dials" aria-hidden="true">
          ◀
        </span>
        <small>
          {isMet ? word : "no session"}
          {pair.rendezvous !== undefined && <span class="endpoint"> at {pair.rendezvous}</span>}
        </small>
      </div>
      <Side title={`Target ${pair.name}`} pods={pair.targets} elsewhere="its Target is not in this cluster" />
    </div>
  );
}

interface SideProps {
  title: string;
  /** Absent: in another cluster. */
  pods: readonly PodPicture[] | undefined;
  elsewhere: string;
}

function Side({ title, pods, elsewhere }: SideProps) {
  if (pods === undefined) return <div class="side elsewhere">{elsewhere}</div>;
  return (
    <ul class="side" aria-label={title}>
      {pods.length === 0 && <li class="pod trouble">{title}: no pod</li>}
      {pods.map((pod) => (
        <Pod key={pod.name} pod={pod} />
      ))}
    </ul>
  );
}

function Pod({ pod }: { pod: PodPicture }) {
  const { name, node, role, isReady, trouble, streams } = pod;
  const state = trouble !== undefined ? "trouble" : isReady ? "good" : role === "standby" ? "waits" : "pending";
  const word = trouble ?? (isReady ? streamWord(streams) : role === "standby" ? "stands by" : "no session");
  return (
    <li class={`pod ${state}`}>
      <span class="role">{role}</span> <span class="pod-name">{name}</span>
      <small>
        {node === "" ? "on no node yet" : `on ${node}`} · {word}
      </small>
    </li>
  );
}
