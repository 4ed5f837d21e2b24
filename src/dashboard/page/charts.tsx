import { memo } from "preact/compat";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Point } from "../picture-types.ts";
import { bytes } from "./words.ts";

const box = { width: 120, height: 28 };
/** Points that a sparkline shows: two minutes at the default interval. */
const shownPoints = 60;

/** Bytes per second of both directions together, without axes. */
export const Sparkline = memo(({ points }: { points: readonly Point[] }) => {
  const values = points.slice(-shownPoints).map(([, , up, down]) => (up === null || down === null ? null : up + down));
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  let pen = "M";
  const path = values
    .map((value, index) => {
      if (value === null) {
        pen = "M";
        return "";
      }
      const x = box.width - (values.length - 1 - index) * (box.width / (shownPoints - 1));
      const y = box.height - 1 - (value / most) * (box.height - 2);
      const step = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = "L";
      return step;
    })
    .join("");
  return (
    <svg class="spark" viewBox={`0 0 ${box.width} ${box.height}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  );
});

interface ChartProps {
  title: string;
  points: readonly Point[];
  /** Which values of the points, their names and the CSS variables of their colours. */
  series: readonly { index: 1 | 2 | 3; label: string; color: string }[];
  unit: "count" | "bytes";
}

export function Chart({ title, points, series, unit }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const made = new uPlot(optionsOf({ title, series, unit }, current), dataOf(points, series), current);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height: chartHeight }));
    watcher.observe(current);
    return () => {
      watcher.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(points, series)), [points]);
  const last = points.at(-1);
  const words = series.map(({ index, label }) => `${label} ${shownValue(last?.[index], unit)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        {title} <small>{words}</small>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title} over the last minutes; now ${words}`} />
    </figure>
  );
}

const chartHeight = 150;

function shownValue(value: number | null | undefined, unit: ChartProps["unit"]): string {
  if (value === null || value === undefined) return "?";
  return unit === "bytes" ? `${bytes(value)}/s` : `${value}`;
}

function dataOf(points: readonly Point[], series: ChartProps["series"]): uPlot.AlignedData {
  return [points.map(([at]) => at), ...series.map(({ index }) => points.map((point) => point[index]))];
}

function optionsOf({ series, unit }: Omit<ChartProps, "points">, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color("--quiet"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: chartHeight,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(most ?? 0, unit === "count" ? 4 : 1000) * 1.1] } },
    axes: [
      axis,
      {
        ...axis,
        size: 64,
        values: (_, ticks) => ticks.map((tick) => (unit === "bytes" ? bytes(tick) : wholeText(tick))),
      },
    ],
    series: [
      {},
      ...series.map(({ label, color: name }) => ({ label, stroke: color(name), width: 1.5, points: { show: false } })),
    ],
  };
}

const wholeText = (tick: number): string => (Number.isInteger(tick) ? `${tick}` : "");
