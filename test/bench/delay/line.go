package main

import (
	"math/rand/v2"
	"time"
)

// line is one direction of the cable with the router before it. A packet waits in the router's queue until those before
// it have been sent, takes its own time at the rate, may be lost then, and needs oneWay to the other end.
type line struct {
	oneWay time.Duration
	// bytesPerSecond is 0 for a line that sends everything at once.
	bytesPerSecond float64
	// queue is how many bytes may wait; what comes beyond is dropped, as routers do.
	queue int
	// loss is the probability of a packet to be lost on its way.
	loss   float64
	random *rand.Rand
	// idle is when everything accepted so far has been sent.
	idle time.Time
}

// newLine makes a line whose losses repeat: with the same seed and number the same packets of a run are lost.
func newLine(shape line, seed, number uint64) *line {
	shape.random = rand.New(rand.NewPCG(seed, number))
	return &shape
}

// accept tells when a packet that comes now reaches the other end, and false when it never does.
func (way *line) accept(now time.Time, size int) (due time.Time, arrives bool) {
	sent := now
	if way.bytesPerSecond > 0 {
		wait := max(way.idle.Sub(now), 0)
		if waiting := wait.Seconds() * way.bytesPerSecond; waiting+float64(size) > float64(way.queue) {
			return time.Time{}, false
		}
		sent = now.Add(wait + time.Duration(float64(size)/way.bytesPerSecond*float64(time.Second)))
		way.idle = sent
	}
	if way.loss > 0 && way.random.Float64() < way.loss {
		return time.Time{}, false
	}
	return sent.Add(way.oneWay), true
}
