import { useEffect, useState } from "preact/hooks";
import type { Line, Picture, Point, Told } from "../picture-types.ts";

/** What the page knows. */
export interface Live {
  /** Name of the cluster's context. */
  context: string;
  picture: Picture | undefined;
  /** The cluster gives no answer; the picture is what was seen last. */
  trouble: Told["trouble"] | undefined;
  /** The program that serves this page is gone since then. */
  cutSince: string | undefined;
  points: ReadonlyMap<string, readonly Point[]>;
}

const maxPoints = 300;

/** Follows the event stream; the browser connects again by itself. */
export function useLive(): Live {
  const [live, setLive] = useState<Live>({
    ...{ context: "", picture: undefined, trouble: undefined, cutSince: undefined, points: new Map() },
  });
  useEffect(() => {
    const stream = new EventSource("/live");
    const on = <Name extends keyof Told>(name: Name, change: (live: Live, data: Told[Name]) => Live) => {
      stream.addEventListener(name, (event) => {
        const data = JSON.parse(event.data) as Told[Name];
        setLive((before) => ({ ...change(before, data), cutSince: undefined }));
      });
    };
    on("history", (before, { context, points }) => ({ ...before, context, points: new Map(Object.entries(points)) }));
    on("picture", (before, picture) => ({
      ...{ ...before, picture, trouble: undefined, points: pointsAfter(before.points, picture) },
    }));
    on("trouble", (before, trouble) => ({ ...before, trouble }));
    stream.onerror = () => setLive((before) => ({ ...before, cutSince: before.cutSince ?? new Date().toISOString() }));
    return () => stream.close();
  }, []);
  return live;
}

function pointsAfter(before: Live["points"], { at, lines }: Picture): Map<string, readonly Point[]> {
  return new Map(
    lines.map((line) => {
      const points = before.get(line.key) ?? [];
      const point = pointOf(line, at);
      const isKnown = points.at(-1)?.[0] === point[0];
      return [line.key, isKnown ? points : [...points.slice(1 - maxPoints), point]];
    }),
  );
}

function pointOf({ numbers, rates }: Line, at: string): Point {
  const second = Math.round(Date.parse(at) / 1000);
  return [second, numbers?.streams ?? null, rates?.toBackend ?? null, rates?.toConsumer ?? null];
}
