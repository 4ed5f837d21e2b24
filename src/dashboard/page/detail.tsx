import { useEffect, useRef, useState } from "preact/hooks";
import type { ConditionPicture, Finding, Line, Point } from "../picture-types.ts";
import { Chart } from "./charts.tsx";
import { Scene } from "./scene.tsx";
import { encryptionWord, sessionWord, since, stateWords, streamWord } from "./words.ts";

interface DetailProps {
  line: Line;
  points: readonly Point[];
  /** Milliseconds of the epoch. */
  now: number;
}

export function Detail({ line, points, now }: DetailProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [line.key]);
  const { kind, namespace, name, state, numbers, conditions } = line;
  return (
    <section class="detail" aria-labelledby="detail-name" key={line.key}>
      <a class="close" href="#all" aria-label="Close (Escape)">
        ✕
      </a>
      <h2 id="detail-name" ref={heading} tabIndex={-1}>
        {name}{" "}
        <small>
          {kind} in {namespace}
        </small>
      </h2>
      <p class={`state ${state}`}>
        <i class="dot" aria-hidden="true" />
        {stateWords[state]} · {sessionWord(numbers)} · {streamWord(numbers?.streams)} · {encryptionWord(line)}
      </p>
      <Scene line={line} />
      <Conditions conditions={conditions} now={now} />
      <div class="charts">
        <Chart
          title="Bytes per second"
          points={points}
          unit="bytes"
          series={[
            { index: 3, label: "to consumers", color: "--down" },
            { index: 2, label: "to the backend", color: "--up" },
          ]}
        />
        <Chart title="Streams" points={points} unit="count" series={[{ index: 1, label: "open", color: "--down" }]} />
      </div>
      <Doctor of={line.key} />
    </section>
  );
}

function Conditions({ conditions, now }: { conditions: readonly ConditionPicture[]; now: number }) {
  if (conditions.length === 0) return <p>No operator has said anything about it.</p>;
  return (
    <table class="conditions">
      <caption>Conditions</caption>
      <tbody>
        {conditions.map(({ type, status, reason, message, since: time }) => (
          <tr key={type} class={status === "True" ? "is-true" : "is-not"}>
            <th scope="row">{type}</th>
            <td>{status}</td>
            <td>{reason}</td>
            <td class="message">{message}</td>
            <td class="age">{Date.parse(time) > 0 ? since(time, now) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Milliseconds from one examination to the next: it asks more than a look. */
const examineEvery = 15_000;

function Doctor({ of }: { of: string }) {
  const [finding, setFinding] = useState<Finding | string | undefined>();
  useEffect(() => {
    const leaving = new AbortController();
    const examine = async () => {
      try {
        const response = await fetch(`/doctor?of=${encodeURIComponent(of)}`, { signal: leaving.signal });
        setFinding(response.ok ? ((await response.json()) as Finding) : await response.text());
      } catch {
        if (!leaving.signal.aborted) setFinding("The doctor gives no answer.");
      }
    };
    setFinding(undefined);
    void examine();
    const timer = setInterval(examine, examineEvery);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, [of]);
  return (
    <section class="doctor" aria-live="polite">
      <h3>Doctor</h3>
      {finding === undefined ? (
        <p>examines it…</p>
      ) : typeof finding === "string" ? (
        <p>{finding}</p>
      ) : (
        <Findings {...finding} />
      )}
    </section>
  );
}

const verdictWords = { healthy: "healthy", broken: "broken", unknown: "cannot tell" } as const;
const marks = { ok: "ok", broken: "broken", unknown: "?", skipped: "-" } as const;

function Findings({ verdict, checks, firstBroken }: Finding) {
  return (
    <>
      <p class={`verdict ${verdict}`}>{verdictWords[verdict]}</p>
      <ol class="checks">
        {checks.map(({ link, outcome, evidence, next }, index) => (
          <li key={link} class={`${outcome}${index === firstBroken ? " first" : ""}`}>
            <span class="outcome">{marks[outcome]}</span> <b>{link}</b> {evidence}
            {next !== undefined && (outcome !== "broken" || index === firstBroken) && <p class="next">Next: {next}</p>}
          </li>
        ))}
      </ol>
    </>
  );
}
