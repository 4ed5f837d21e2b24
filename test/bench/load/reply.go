package main

import (
	"net"
	"sync"
	"time"
)

type replyResult struct {
	// Alone and Together are seconds from connect to the first byte of the reply; Together has one list per burst.
	Alone    []float64   `json:"alone"`
	Together [][]float64 `json:"together"`
	// Connects are seconds for the connect alone, of the exchanges in Alone.
	Connects []float64 `json:"connects"`
}

// reply measures first replies: -count one after the other, then -bursts times -streams at once, after a rest each.
func reply(given settings) (any, error) {
	server, err := startBackend(given)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	result := replyResult{Alone: []float64{}, Together: [][]float64{}, Connects: []float64{}}
	for range given.count {
		connected, replied, err := timedExchange(given.connect)
		if err != nil {
			return nil, err
		}
		result.Connects = append(result.Connects, connected.Seconds())
		result.Alone = append(result.Alone, replied.Seconds())
	}
	for range given.bursts {
		time.Sleep(given.pause)
		burst, err := timedBurst(given.connect, given.streams)
		if err != nil {
			return nil, err
		}
		result.Together = append(result.Together, burst)
	}
	return result, nil
}

// timedExchange tells how long the connect took, and how long the connect with the first reply.
func timedExchange(address string) (connected, replied time.Duration, err error) {
	started := time.Now()
	connection, err := net.DialTimeout("tcp", address, exchangeDeadline)
	if err != nil {
		return 0, 0, err
	}
	defer connection.Close()
	connected = time.Since(started)
	_ = connection.SetDeadline(time.Now().Add(exchangeDeadline))
	single := [1]byte{modeEcho}
	if _, err = connection.Write(single[:]); err == nil {
		_, err = connection.Read(single[:])
	}
	return connected, time.Since(started), err
}

// timedBurst starts count exchanges at the same moment and returns the seconds until each one's reply.
func timedBurst(address string, count int) ([]float64, error) {
	times := make([]float64, count)
	failures := make([]error, count)
	var running sync.WaitGroup
	for index := range count {
		running.Go(func() {
			_, replied, err := timedExchange(address)
			times[index], failures[index] = replied.Seconds(), err
		})
	}
	running.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return times, nil
}
