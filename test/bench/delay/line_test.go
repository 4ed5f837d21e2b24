package main

import (
	"testing"
	"time"
)

var start = time.Unix(1_000_000, 0)

func TestALineWithoutARateSendsEverythingAtOnce(t *testing.T) {
	way := newLine(line{oneWay: 25 * time.Millisecond}, 1, 0)
	for range 1000 {
		due, arrives := way.accept(start, 1500)
		if !arrives || due != start.Add(25*time.Millisecond) {
			t.Fatalf("arrives %v at %v", arrives, due.Sub(start))
		}
	}
}

func TestPacketsLeaveAtTheRateAndTheQueueIsBoundedInBytes(t *testing.T) {
	// 1000 bytes take 1 ms.
	way := newLine(line{oneWay: 10 * time.Millisecond, bytesPerSecond: 1e6, queue: 5000}, 1, 0)
	for nth := 1; nth <= 5; nth++ {
		due, arrives := way.accept(start, 1000)
		if wanted := time.Duration(nth+10) * time.Millisecond; !arrives || due.Sub(start) != wanted {
			t.Fatalf("packet %d arrives %v after %v, wanted %v", nth, arrives, due.Sub(start), wanted)
		}
	}
	if _, arrives := way.accept(start, 1000); arrives {
		t.Fatal("a packet beyond the queue was accepted")
	}
	// Two have been sent meanwhile: three wait, and what was dropped takes no time of the line.
	due, arrives := way.accept(start.Add(2*time.Millisecond), 1000)
	if !arrives || due.Sub(start) != 16*time.Millisecond {
		t.Fatalf("arrives %v after %v", arrives, due.Sub(start))
	}
	// After a rest nothing is left of the queue.
	due, arrives = way.accept(start.Add(time.Second), 1000)
	if !arrives || due.Sub(start) != time.Second+11*time.Millisecond {
		t.Fatalf("arrives %v after %v", arrives, due.Sub(start))
	}
}

func TestLossesAreAsFrequentAsAskedAndRepeat(t *testing.T) {
	const packets = 100_000
	lost := func(seed, number uint64) (list []int) {
		way := newLine(line{loss: 0.005}, seed, number)
		for index := range packets {
			if _, arrives := way.accept(start, 1500); !arrives {
				list = append(list, index)
			}
		}
		return list
	}
	first, again, other := lost(1, 0), lost(1, 0), lost(1, 1)
	if len(first) < 400 || len(first) > 600 {
		t.Fatalf("%d of %d lost", len(first), packets)
	}
	if len(again) != len(first) || again[0] != first[0] || again[len(again)-1] != first[len(first)-1] {
		t.Fatal("the same seed lost other packets")
	}
	if other[0] == first[0] && other[1] == first[1] {
		t.Fatal("both directions lost the same packets")
	}
}
