package main

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// loadOrder is what runs until it is stopped. Times in milliseconds.
type loadOrder struct {
	Address string `json:"address"`
	// Time from one new connection to the next, whether or not the ones before have ended.
	Interval int64 `json:"interval"`
	// Connections that stay and exchange all the time; one that breaks is replaced.
	Streams int `json:"streams"`
	// How long each of them stays; 0 is until the load is stopped.
	Life int64 `json:"life"`
	// Longest time of a new connection with its exchange.
	Attempt int64 `json:"attempt"`
	// Longest time of one exchange of an established connection.
	Stall int64 `json:"stall"`
}

// event is a connection that has ended.
type event struct {
	// `new`: one exchange. `stream`: exchanged until it ended.
	Kind string `json:"kind"`
	// The consumer's own.
	Port int `json:"port"`
	// Milliseconds since 1970 when it began.
	At int64 `json:"at"`
	// Milliseconds until its end.
	Took int64 `json:"took"`
	// `ok`, or in one word why not.
	Result    string `json:"result"`
	Detail    string `json:"detail,omitempty"`
	Exchanges int    `json:"exchanges,omitempty"`
}

type state struct {
	Kind string `json:"kind"`
	At   int64  `json:"at"`
	// When those connections began that have not ended.
	Pending []int64 `json:"pending"`
	// Established connections that exchange now.
	Streams int `json:"streams"`
}

type load struct {
	order   loadOrder
	stopped context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mutex   sync.Mutex
	events  []event
	pending map[int]time.Time
	made    int
	streams int
}

func startLoad(order loadOrder) *load {
	running := &load{order: order, pending: map[int]time.Time{}}
	running.stopped, running.cancel = context.WithCancel(context.Background())
	running.running.Add(1)
	go running.makeConnections()
	for range order.Streams {
		running.running.Add(1)
		go running.keepStream()
	}
	return running
}

func (running *load) stop() {
	running.cancel()
	running.running.Wait()
}

func (running *load) write(to io.Writer, from int) {
	running.mutex.Lock()
	now := state{Kind: "state", At: time.Now().UnixMilli(), Pending: []int64{}, Streams: running.streams}
	for _, began := range running.pending {
		now.Pending = append(now.Pending, began.UnixMilli())
	}
	events := running.events[min(max(from, 0), len(running.events)):]
	running.mutex.Unlock()
	encoder := json.NewEncoder(to)
	for _, each := range events {
		_ = encoder.Encode(each)
	}
	_ = encoder.Encode(now)
}

func (running *load) makeConnections() {
	defer running.running.Done()
	ticker := time.NewTicker(milliseconds(running.order.Interval))
	defer ticker.Stop()
	for {
		select {
		case <-running.stopped.Done():
			return
		case <-ticker.C:
			running.running.Add(1)
			go func() {
				defer running.running.Done()
				running.tracked(func() event {
					return attempt(running.order.Address, 2048, milliseconds(running.order.Attempt))
				})
			}()
		}
	}
}

// tracked counts a connection as pending while it is made and keeps its event.
func (running *load) tracked(make func() event) event {
	running.mutex.Lock()
	running.made++
	id := running.made
	running.pending[id] = time.Now()
	running.mutex.Unlock()
	made := make()
	running.mutex.Lock()
	defer running.mutex.Unlock()
	delete(running.pending, id)
	running.events = append(running.events, made)
	return made
}

func (running *load) exchanging(change int) {
	running.mutex.Lock()
	defer running.mutex.Unlock()
	running.streams += change
}

func (running *load) keep(ended event) {
	running.mutex.Lock()
	defer running.mutex.Unlock()
	running.events = append(running.events, ended)
}
