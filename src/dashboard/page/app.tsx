import { useEffect, useRef, useState } from "preact/hooks";
import { Detail } from "./detail.tsx";
import { List } from "./list.tsx";
import { type Live, useLive } from "./live.ts";
import { clock, since } from "./words.ts";

export function App() {
  const live = useLive();
  const open = useHash();
  const [filter, setFilter] = useState("");
  const now = useNow();
  const lines = live.picture?.lines ?? [];
  const line = lines.find(({ key }) => key === open);
  useEffect(() => {
    document.title = line === undefined ? "netaminity" : `${line.namespace}/${line.name} - netaminity`;
  }, [line?.key]);
  return (
    <div class={line === undefined ? "app" : "app with-detail"}>
      <Header live={live} filter={filter} setFilter={setFilter} />
      <Banner live={live} now={now} />
      <main>
        <List lines={lines} points={live.points} open={open} filter={filter} isLoading={live.picture === undefined} />
        {line !== undefined && <Detail line={line} points={live.points.get(line.key) ?? []} now={now} />}
        {line === undefined && open !== "" && live.picture !== undefined && (
          <p class="gone">
            {open} is not there (any more). <a href="#all">Back to the list</a>
          </p>
        )}
      </main>
    </div>
  );
}

interface HeaderProps {
  live: Live;
  filter: string;
  setFilter: (text: string) => void;
}

function Header({ live, filter, setFilter }: HeaderProps) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isWriting = event.target instanceof HTMLInputElement;
      if (event.key === "/" && !isWriting) {
        event.preventDefault();
        field.current?.focus();
      }
      if (event.key !== "Escape") return;
      if (isWriting && field.current?.value !== "") setFilter("");
      else location.hash = "all";
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [setFilter]);
  const { picture, context } = live;
  const bad = picture?.lines.filter(({ state }) => state === "down" || state === "partly").length ?? 0;
  return (
    <header>
      <h1>
        netaminity <small>{context}</small>
      </h1>
      <label>
        <span class="hidden">Filter by name or namespace</span>
        <input
          ref={field}
          type="search"
          placeholder="Filter (/)"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      </label>
      <p class="sum" role="status">
        {picture === undefined ? "asks the cluster" : `${picture.lines.length} in all, ${bad} in need of help`}
      </p>
    </header>
  );
}

/** What the page cannot know is said above everything else. */
function Banner({ live, now }: { live: Live; now: number }) {
  const { cutSince, trouble, picture } = live;
  const seen = picture === undefined ? "" : ` What is below was seen at ${clock(picture.at)}.`;
  if (cutSince !== undefined) {
    return (
      <p class="banner" role="alert">
        The program that serves this page has given no answer for {since(cutSince, now)}.{seen} Start netaminity
        dashboard again, and open the address that it prints.
      </p>
    );
  }
  if (trouble === undefined) return null;
  return (
    <p class="banner" role="alert">
      The cluster has given no answer for {since(trouble.since, now)}: {trouble.message}.{seen}
    </p>
  );
}

function useHash(): string {
  const read = () => (location.hash === "#all" ? "" : decodeURIComponent(location.hash.slice(1)));
  const [hash, setHash] = useState(read);
  useEffect(() => {
    const onChange = () => setHash(read());
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return hash;
}

/** Milliseconds of the epoch, anew every second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
