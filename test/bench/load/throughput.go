package main

import (
	"fmt"
	"net"
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
	Left    int              `json:"left"`
	OwnCPU  float64          `json:"ownCpuSeconds"`
	Watched map[string]usage `json:"watched"`
}

// throughput opens -streams connections, moves bytes in -direction as fast as they go and counts them at the receiver.
func throughput(given settings) (any, error) {
	mode, known := map[string]byte{"up": modeUp, "down": modeDown, "both": modeBoth}[given.direction]
	if !known {
		return nil, fmt.Errorf("-direction is up, down or both, not %q", given.direction)
	}
	server, err := startBackend(given.backend)
	if err != nil {
		return nil, err
	}
	defer server.listener.Close()
	connections, err := openStreams(given.connect, mode, given.streams)
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
	for _, connection := range connections {
		_ = connection.Close()
	}
	running.Wait()
	result.Left = server.stop()
	return result, nil
}

// openStreams connects one after the other and waits for the first reply on each, so that all are whole.
func openStreams(address string, mode byte, count int) ([]*net.TCPConn, error) {
	connections := make([]*net.TCPConn, 0, count)
	for range count {
		connection, err := exchange(address, mode)
		if err != nil {
			for _, open := range connections {
				_ = open.Close()
			}
			return nil, fmt.Errorf("stream %d of %d: %w", len(connections)+1, count, err)
		}
		connections = append(connections, connection)
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
