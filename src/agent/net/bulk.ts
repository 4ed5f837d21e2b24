import { Admission } from "./admission.ts";
import { appetiteOf, pieceOf, segment } from "./appetite.ts";
import { type BulkFlow, Place } from "./bulk-flow.ts";
import { Pace } from "./pace.ts";
import { bytesWaiting, canSplice, splice, take } from "./splice.ts";
import { type Ends, WatchList } from "./watch-list.ts";
import { wires } from "./wire.ts";

/**
 * Who moves the bytes of a flow, so that this process holds few of them. Bun reads up to 512 KiB at once into a fresh buffer, and what the
 * receiver does not take has to wait here: with a thousand streams that would be half a gigabyte. Limiting the receive buffers instead
 * would make every longer link slow. So what comes in large reads moves inside the kernel, in turns before every look at the sockets, with the
 * source paused, so that Bun does not read it. What tells of the next bytes, or of room for them, is
 *
 * - Bun, while few flows are so busy: nothing wakes this process sooner;
 * - descriptors of epoll of our own, asked in each turn, when they are many or when this process holds much already. Then no source of a
 *   bulk flow is left to Bun, and whatever comes, little or much, moves inside the kernel. A flow that rests goes back to Bun;
 * - the same for a flow whose bytes come fast but packet by packet, as from a long link: a turn takes what came within a millisecond at once.
 */

/** Less than this is left to Bun's next read: small moves do not pay. */
const large = 16 * 1024;
/** Bulk flows that are left to Bun between their moves. */
const few = 16;
/** Bytes held in this process from which on Bun reads no source any more. */
const muchHeld = 8 * 1024 * 1024;
/** Bytes held from which on sources that only Bun can read take turns. */
const mostHeld = 24 * 1024 * 1024;
/** Bytes by which what is held has to grow before the sources are taken from Bun once more. */
const growth = 2 * 1024 * 1024;
/** Milliseconds of moves between two looks at the sockets: all that a new connection or a short message has to wait for. */
const turnTime = 4;
/** Milliseconds between two turns while nothing can be moved. */
const turnPause = 1;
/** A flow is no bulk flow any more after so many milliseconds without a move, and as many turns: a busy process takes its time. */
const restTime = 200;
const restTurns = 20;

/** All flows that run. */
const flows = new Map<BulkFlow, Pace>();
/** The bulk flows among them, the longest without a move first. */
const bulk = new Map<BulkFlow, Place>();
/** Bulk flows that have something to move, in the order in which they get their turns. Their sources are paused. */
const busy = new Set<BulkFlow>();
const watched = new WatchList<BulkFlow>();
/** Flows whose sources only Bun can read, and must not read yet. */
const admission = new Admission<BulkFlow>();

/** Bytes held from which on the sources are taken from Bun once more. */
let limit = muchHeld;
let nextTurn: "none" | "immediate" | Timer = "none";
let turns = 0;

/** From now on the flow gets what its source brings. */
export function startFlow(flow: BulkFlow): void {
  flows.set(flow, new Pace());
  if (!flow.sink.isClear) flow.source.pause();
  else if (!holdsMuch() || !takeFromBun(flow)) giveBack(flow);
}

/** The flow is over: its wires are closed now, and the system forgets them by itself. */
export function endFlow(flow: BulkFlow): void {
  flows.delete(flow);
  busy.delete(flow);
  admission.delete(flow);
  const ends = bulk.get(flow)?.watched;
  if (ends !== undefined) watched.closed(ends);
  bulk.delete(flow);
}

/** The wires of the flow are somebody else's from now on. */
export function stopFlow(flow: BulkFlow): void {
  unwatch(bulk.get(flow));
  endFlow(flow);
}

/** Bun has read so many bytes of the flow, and they were forwarded. */
export function wasRead(flow: BulkFlow, bytes: number): void {
  limit = Math.max(muchHeld, Math.min(limit, wires.buffered + growth));
  if (wires.buffered >= limit) {
    limit = wires.buffered + growth;
    for (const other of flows.keys()) if (other.sink.isClear) takeFromBun(other);
  }
  const pace = flows.get(flow);
  if (pace === undefined) return;
  pace.add(bytes);
  if (bytes >= large) advance(flow);
  else if (!flow.sink.isClear) return;
  else if (pace.isFast) takeFromBun(flow);
  else if (wires.buffered >= mostHeld) giveBack(flow);
}

/** The sink of the flow has taken what waited for it. */
export function goOn(flow: BulkFlow): void {
  if (flows.has(flow)) advance(flow);
}

/** One move, and who is to tell when there is another. */
function advance(flow: BulkFlow): void {
  switch (tryMove(flow)) {
    case "more":
      flow.source.pause();
      busy.add(flow);
      schedule();
      return;
    case "full":
      // The sink tells.
      flow.source.pause();
      return;
    case "dry": {
      const place = touch(flow);
      if (place.ended || !isOurs(flow) || !watch(flow, place)) giveBack(flow);
      return;
    }
    case "stuck":
      giveBack(flow);
  }
}

/** Puts the flow last among the bulk flows. */
function touch(flow: BulkFlow): Place {
  const place = bulk.get(flow) ?? new Place();
  place.since = performance.now();
  place.turns = turns;
  bulk.delete(flow);
  bulk.set(flow, place);
  return place;
}

/** Whether the bulk flow is not left to Bun between its moves. */
function isOurs(flow: BulkFlow): boolean {
  return bulk.size > few || holdsMuch() || flows.get(flow)?.isFast === true;
}

function holdsMuch(): boolean {
  return wires.buffered >= muchHeld;
}

/** Makes a bulk flow of it at once. False where its source is left to Bun in any case. */
function takeFromBun(flow: BulkFlow): boolean {
  if (flow.source.rawSource !== undefined) flow.sink.turnRaw();
  return endsOf(flow) !== undefined && watch(flow, touch(flow));
}

/** True when the source of the bulk flow is watched from now on, and not read by Bun. */
function watch(flow: BulkFlow, place: Place): boolean {
  if (place.watched !== undefined) return true;
  const ends = endsOf(flow);
  if (ends === undefined || !watched.add(flow, ends)) return false;
  flow.source.pause();
  place.watched = ends;
  schedule();
  return true;
}

/** Descriptors of the two sockets: that of a source which is neither framed nor encrypted, and of such a sink if it is one. */
function endsOf({ source, sink }: BulkFlow): Ends | undefined {
  const [from, to] = [source.rawSource, sink.rawSink];
  if (!from?.open || !sink.open || !canSplice()) return undefined;
  return { source: from.descriptor, sink: to?.open ? to.descriptor : undefined };
}

function unwatch(place: Place | undefined): void {
  if (place?.watched === undefined) return;
  watched.remove(place.watched);
  place.watched = undefined;
  place.full = false;
}

/** Bun reads the source again, or reports its end or error. */
function giveBack(flow: BulkFlow): void {
  unwatch(bulk.get(flow));
  if (flow.source.rawSource === undefined && wires.buffered >= mostHeld) {
    flow.source.pause();
    admission.add(flow);
    schedule();
  } else flow.source.resume();
}

/** Flows that have rested long enough are bulk flows no more. */
function letRest(): void {
  const now = performance.now();
  for (const [flow, place] of bulk) {
    if (now - place.since < restTime || turns - place.turns < restTurns) return;
    if (busy.has(flow)) {
      touch(flow);
      continue;
    }
    const waits = place.full;
    unwatch(place);
    bulk.delete(flow);
    // Somebody who reads so slowly is left to Bun too: it tells when there is room.
    if (waits) advance(flow);
    else if (flow.sink.isClear) giveBack(flow);
  }
}

function schedule(): void {
  if (nextTurn === "immediate") return;
  if (busy.size > 0) {
    if (nextTurn !== "none") clearTimeout(nextTurn);
    nextTurn = "immediate";
    setImmediate(turn);
  } else if (watched.size + admission.size > 0 && nextTurn === "none") {
    nextTurn = setTimeout(turn, turnPause);
  }
}

/** One move of each busy flow after the other, again and again while there is time: one that goes on is put last and met again. */
function turn(): void {
  nextTurn = "none";
  turns += 1;
  try {
    watched.meet(hasBytes, hasRoom);
    const end = performance.now() + turnTime;
    for (const flow of busy) {
      busy.delete(flow);
      advance(flow);
      if (performance.now() >= end) break;
    }
    letRest();
    for (const flow of admission.admit(mostHeld - wires.buffered)) flow.source.resume();
  } finally {
    schedule();
  }
}

function hasBytes(flow: BulkFlow, over: boolean): void {
  const place = bulk.get(flow);
  if (place === undefined) return;
  if (over) place.ended = true;
  // One that waits for its sink goes on with that.
  if (flow.sink.isClear && !place.full) busy.add(flow);
}

function hasRoom(flow: BulkFlow): void {
  const place = bulk.get(flow);
  if (!place?.full) return;
  place.full = false;
  busy.add(flow);
}

/** What came of a move: `more` may follow; the sink is `full`; the source is `dry`; or bytes wait that only an ordinary read gets (`stuck`). */
type Outcome = "more" | "full" | "dry" | "stuck";

function tryMove(flow: BulkFlow): Outcome {
  try {
    return move(flow);
  } catch (cause) {
    // The other flows have their turns all the same.
    flow.fail(cause);
    return "full";
  }
}

function move(flow: BulkFlow): Outcome {
  if (!flow.sink.isClear) return "full";
  const ends = endsOf(flow);
  if (ends === undefined) return "stuck";
  const known = bulk.get(flow);
  if (known !== undefined && isOurs(flow)) watch(flow, known);
  // Asked before anything is taken: a move would meet the end or the error of an empty source, and use up what Bun is to report.
  const waiting = bytesWaiting(ends.source);
  const { sink } = ends;
  if (waiting < (known?.watched === undefined ? large : 1)) return "dry";
  if (sink !== undefined) return moveOf(waiting, touch(flow), flow, { source: ends.source, sink });
  // Bun's own reads are larger, which costs less; small ones cost less memory.
  return touch(flow).watched === undefined ? "stuck" : copyOf(waiting, flow, ends.source);
}

/** Reads a piece for a sink whose bytes are framed or encrypted. */
function copyOf(waiting: number, flow: BulkFlow, source: number): Outcome {
  const piece = take(source, Math.min(waiting, pieceOf(bulk.size)));
  if (piece.byteLength === 0) return "stuck";
  flow.count(piece.byteLength);
  flow.forward(piece);
  flows.get(flow)?.add(piece.byteLength);
  if (!flow.sink.isClear) return "full";
  return piece.byteLength >= waiting ? "dry" : "more";
}

function moveOf(waiting: number, place: Place, flow: BulkFlow, ends: { source: number; sink: number }): Outcome {
  const { bytes, writable } = appetiteOf(ends.sink, place.attempt, bulk.size);
  if (!writable && place.watched !== undefined && watched.awaitRoom(place.watched)) {
    place.full = true;
    return "full";
  }
  const { taken, left } = splice(ends.source, ends.sink, bytes);
  if (taken === 0) return "stuck";
  flow.count(taken);
  if (left !== undefined) {
    place.attempt = segment;
    flow.forward(left);
  }
  if (!flow.sink.isClear) return "full";
  if (place.watched === undefined) return "more";
  flows.get(flow)?.add(taken);
  // What came meanwhile is told by the next look at the watched sources.
  return taken >= waiting ? "dry" : "more";
}
