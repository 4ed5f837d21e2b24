import { memo } from "preact/compat";
import { useMemo } from "preact/hooks";
import type { Line, Point, State } from "../picture-types.ts";
import { Sparkline } from "./charts.tsx";
import { encryptionWord, rate, sessionWord, stateWords, streamWord } from "./words.ts";

interface ListProps {
  lines: readonly Line[];
  points: ReadonlyMap<string, readonly Point[]>;
  /** Key of the line that is shown beside the list. */
  open: string;
  filter: string;
  isLoading: boolean;
}

/** What needs help comes first. */
const order: readonly State[] = ["down", "partly", "unknown", "ready", "off"];

export function List({ lines, points, open, filter, isLoading }: ListProps) {
  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/);
    return lines
      .filter(({ key, state }) => words.every((word) => `${key} ${stateWords[state]}`.includes(word)))
      .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  }, [lines, filter]);
  if (shown.length === 0) {
    const why = isLoading
      ? ""
      : lines.length === 0
        ? "There is no Tunnel, Proxy or Target yet."
        : "Nothing has such a name.";
    return <p class="none">{why}</p>;
  }
  return (
    <ul class="list" onKeyDown={moveFocus}>
      {shown.map((line) => (
        <Card key={line.key} line={line} points={points.get(line.key) ?? []} isOpen={line.key === open} />
      ))}
    </ul>
  );
}

const Card = memo(({ line, points, isOpen }: { line: Line; points: readonly Point[]; isOpen: boolean }) => {
  const { key, kind, namespace, name, state, numbers, rates } = line;
  return (
    <li>
      <a class={`card ${state}`} href={`#${encodeURIComponent(key)}`} aria-current={isOpen ? "true" : undefined}>
        <span class="name">
          <b>{name}</b>
          <small>
            {namespace} · {kind}
          </small>
        </span>
        <span class="state">
          <i class="dot" aria-hidden="true" />
          {stateWords[state]}
        </span>
        <Sparkline points={points} />
        <span class="figures">
          {sessionWord(numbers)} · {streamWord(numbers?.streams)} · {encryptionWord(line)}
          <br />↓ {rate(rates?.toConsumer)} ↑ {rate(rates?.toBackend)}
        </span>
      </a>
    </li>
  );
});

/** Arrow keys go from card to card. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.currentTarget instanceof HTMLElement)) return;
  const cards = [...event.currentTarget.querySelectorAll<HTMLElement>("a.card")];
  const next = cards[cards.indexOf(document.activeElement as HTMLElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
