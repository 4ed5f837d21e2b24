package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// shownFindings bounds the findings that are described one by one.
const shownFindings = 20

// grace is how long after a tunnel is whole again a failure may still be due to its restart.
const grace = 2 * time.Second

// arrival is how long the last bytes of a closed stream may still be on their way through a busy machine.
const arrival = 5 * time.Second

// tally is what the soak has seen. All its methods may be called from any goroutine.
type tally struct {
	streams  atomic.Int64
	whole    atomic.Int64
	compared atomic.Int64

	mutex sync.Mutex
	// seen holds every stream that reached the backend.
	seen map[uint64]bool
	// promised holds streams whose consumer closed right after its last byte and does not know whether it arrived.
	promised    map[uint64]promise
	disruptions []disruption
	counts      counts
}

type promise struct{ from, to time.Time }

// disruption is the time from a signal to an end until streams pass again; until is zero while it lasts.
type disruption struct {
	from, until time.Time
	kill        bool
}

// counts end up in the report.
type counts struct {
	// Mismatches are wrong, missing or surplus bytes, a clean end too early and a reset that arrived as a clean end.
	Mismatches int `json:"mismatches"`
	// CutByKill are clean ends too early while an end was killed with SIGKILL.
	CutByKill int `json:"cutByKill"`
	// Twice are streams that reached the backend more than once.
	Twice int `json:"twice"`
	// Lost are streams that were closed right after the last byte and never arrived whole.
	Lost int `json:"lost"`
	// Hung are streams that did not end before their deadline.
	Hung int `json:"hung"`
	// RefusedInRestart are new connections that failed, BrokenInRestart established streams with a visible error, while
	// an end was restarting: as on any broken network.
	RefusedInRestart int `json:"refusedInRestart"`
	BrokenInRestart  int `json:"brokenInRestart"`
	// FailedAtRest are streams with an error while nothing was restarting.
	FailedAtRest int `json:"failedAtRest"`
}

func newTally() *tally {
	return &tally{seen: map[uint64]bool{}, promised: map[uint64]promise{}}
}

// arrived notes that a stream reached the backend.
func (count *tally) arrived(id uint64) {
	count.mutex.Lock()
	defer count.mutex.Unlock()
	if count.seen[id] {
		count.counts.Twice++
		count.describe("stream %d reached the backend twice", id)
	}
	count.seen[id] = true
}

func (count *tally) promise(id uint64, from time.Time) {
	count.mutex.Lock()
	defer count.mutex.Unlock()
	if count.promised[id] == (promise{}) {
		count.promised[id] = promise{from: from, to: time.Now().Add(arrival)}
	}
}

// kept notes that all bytes of a stream arrived at the backend, whatever the consumer knows.
func (count *tally) kept(id uint64) {
	count.mutex.Lock()
	defer count.mutex.Unlock()
	// Kept before it was promised: the far future tells promise() so, and settle() to leave it alone.
	count.promised[id] = promise{from: time.Unix(1<<40, 0), to: time.Unix(1<<40, 0)}
}

// settle counts the promises that were not kept although nothing was restarting. Call it when all streams have ended.
func (count *tally) settle() {
	count.mutex.Lock()
	defer count.mutex.Unlock()
	for id, given := range count.promised {
		if given.from.Unix() < 1<<40 && !count.disturbed(given.from, given.to, false) {
			count.counts.Lost++
			count.describe("stream %d: closed right after its last byte, never arrived whole", id)
		}
	}
	clear(count.promised)
}

// ended judges how one side of a stream ended.
func (count *tally) ended(side string, head header, from time.Time, err error) {
	if err == nil {
		count.whole.Add(1)
		return
	}
	count.mutex.Lock()
	defer count.mutex.Unlock()
	now := time.Now()
	if wrong, is := err.(wrongError); is {
		if wrong.early && count.disturbed(from, now, true) {
			count.counts.CutByKill++
			return
		}
		count.counts.Mismatches++
	} else if isTimeout(err) {
		count.counts.Hung++
	} else if count.disturbed(from, now, false) {
		if errors.As(err, new(refusedError)) {
			count.counts.RefusedInRestart++
		} else {
			count.counts.BrokenInRestart++
		}
		return
	} else {
		count.counts.FailedAtRest++
	}
	count.describe("%s of stream %d (%s, up %d, down %d) after %v: %v", side, head.id, head.kind, head.up, head.down, now.Sub(from).Round(time.Millisecond), err)
}

func (count *tally) describe(format string, arguments ...any) {
	if total := count.counts.Mismatches + count.counts.Twice + count.counts.Lost + count.counts.Hung + count.counts.FailedAtRest; total <= shownFindings {
		fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	}
}

func (count *tally) disturb(kill bool) (over func()) {
	count.mutex.Lock()
	defer count.mutex.Unlock()
	index := len(count.disruptions)
	count.disruptions = append(count.disruptions, disruption{from: time.Now(), kill: kill})
	return func() {
		count.mutex.Lock()
		defer count.mutex.Unlock()
		count.disruptions[index].until = time.Now().Add(grace)
	}
}

// disturbed tells whether an end was restarting at some time between from and to; the caller holds the mutex.
func (count *tally) disturbed(from, to time.Time, killed bool) bool {
	for _, one := range count.disruptions {
		if (one.kill || !killed) && one.from.Before(to) && (one.until.IsZero() || one.until.After(from)) {
			return true
		}
	}
	return false
}
