package main

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// exchangeDeadline bounds one connect with its first reply.
const exchangeDeadline = 10 * time.Second

type throughputResult struct {
	// UpBytes and DownBytes arrived at the backend and at the consumers inside the window.
	UpBytes   int64   `json:"upBytes"`
	DownBytes int64   `json:"downBytes"`
	Seconds   float64 `json:"seconds"`
	// Left is the number of backend connections that did not end after their consumer had closed.
	Left int `json:"left"`
	// PeakSocketPages is the largest memory of all TCP sockets of the machine inside the window, in pages.
	PeakSocketPages int64 `json:"peakSocketPages"`
	// Replies are seconds from connect to the first byte of the reply of new connections beside the busy streams.
	Replies []float64        `json:"replies"`
	OwnCPU  float64          `json:"ownCpuSeconds"`
	Watched map[string]usage `json:"watched"`
}

// throughput opens -streams connections, moves bytes in -direction as fast as they go and counts them at the receiver.
func throughput(given settings) (any, error) {
	mode, known := map[string]byte{"up": modeUp, "down": modeDown, "both": modeBoth}[given.direction]
	if !known {
		return nil, fmt.Errorf("-direction is up, down or both, not %q", given.direction)
	}
	server, err := startBackend(given)
	if err != nil {
		return nil, err
	}
	defer server.listener.Close()
	silent, err := openStreams(given, modeEcho, given.idle)
	if err != nil {
		return nil, err
	}
	connections, err := openStreams(given, mode, given.streams)
	if err != nil {
		return nil, err
	}
	var received atomic.Int64
	var running sync.WaitGroup
	for _, connection := range connections {
		if mode != modeDown {
			running.Go(func() { source(connection) })
		}
		running.Go(func() { sink(connection, &received) })
	}
	time.Sleep(given.warm)
	pages := watchSocketPages()
	stop, err := watch(given.watch)
	if err != nil {
		return nil, err
	}
	ownBefore := ownCPUSeconds()
	started, up, down := time.Now(), server.received.Load(), received.Load()
	time.Sleep(given.seconds)
	result := throughputResult{
		UpBytes:   server.received.Load() - up,
		DownBytes: received.Load() - down,
		Seconds:   time.Since(started).Seconds(),
		OwnCPU:    ownCPUSeconds() - ownBefore,
	}
	if result.Watched, err = stop(); err != nil {
		return nil, err
	}
	result.PeakSocketPages = pages()
	if result.Replies, err = repliesBeside(given); err != nil {
		return nil, err
	}
	for _, connection := range slices.Concat(connections, silent) {
		if given.reset {
			_ = connection.SetLinger(0)
		}
		_ = connection.Close()
	}
	running.Wait()
	result.Left = server.stop()
	return result, nil
}

// repliesBeside measures the first replies of -count new connections, one after the other.
func repliesBeside(given settings) ([]float64, error) {
	replies := make([]float64, 0, given.count)
	for range given.count {
		_, replied, err := timedExchange(given.connect)
		if err != nil {
			return nil, fmt.Errorf("a new connection beside the streams: %w", err)
		}
		replies = append(replies, replied.Seconds())
	}
	return replies, nil
}

// openStreams makes count connections, -at-once of them at the same time, and waits for the first reply on each, so
// that all are whole.
func openStreams(given settings, mode byte, count int) ([]*net.TCPConn, error) {
	connections := make([]*net.TCPConn, count)
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var opening sync.WaitGroup
	for range given.atOnce {
		opening.Go(func() {
			for index := int(next.Add(1)) - 1; index < count && failure.Load() == nil; index = int(next.Add(1)) - 1 {
				connection, err := exchange(given.connect, mode)
				if err != nil {
					err = fmt.Errorf("stream %d of %d: %w", index+1, count, err)
					failure.CompareAndSwap(nil, &err)
					return
				}
				connections[index] = connection
			}
		})
	}
	opening.Wait()
	if failed := failure.Load(); failed != nil {
		for _, open := range connections {
			if open != nil {
				_ = open.Close()
			}
		}
		return nil, *failed
	}
	return connections, nil
}

// exchange connects, sends one byte and waits for the reply.
func exchange(address string, mode byte) (*net.TCPConn, error) {
	dialed, err := net.DialTimeout("tcp", address, exchangeDeadline)
	if err != nil {
		return nil, err
	}
	connection := dialed.(*net.TCPConn)
	_ = connection.SetDeadline(time.Now().Add(exchangeDeadline))
	single := [1]byte{mode}
	if _, err = connection.Write(single[:]); err == nil {
		_, err = connection.Read(single[:])
	}
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	_ = connection.SetDeadline(time.Time{})
	return connection, nil
}
