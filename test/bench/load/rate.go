package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

type rateResult struct {
	// Exchanges were completed inside the window, Failures were not completed.
	Exchanges int64   `json:"exchanges"`
	Failures  int64   `json:"failures"`
	Failure   string  `json:"failure,omitempty"`
	Seconds   float64 `json:"seconds"`
	// P50 and P99 of the time from connect to the first byte of the reply, in seconds.
	P50     float64          `json:"p50"`
	P99     float64          `json:"p99"`
	Left    int              `json:"left"`
	OwnCPU  float64          `json:"ownCpuSeconds"`
	Watched map[string]usage `json:"watched"`
}

// rate lets -streams workers connect, send a byte, wait for the reply and close, again and again.
func rate(given settings) (any, error) {
	server, err := startBackend(given)
	if err != nil {
		return nil, err
	}
	defer server.listener.Close()
	var measuring, ending atomic.Bool
	var result rateResult
	var latencies []time.Duration
	var mutex sync.Mutex
	var workers sync.WaitGroup
	for range given.streams {
		workers.Go(func() {
			own, failures, failure := exchanges(given.connect, &measuring, &ending)
			mutex.Lock()
			defer mutex.Unlock()
			latencies = append(latencies, own...)
			result.Failures += failures
			if failure != nil {
				result.Failure = failure.Error()
			}
		})
	}
	time.Sleep(given.warm)
	stop, err := watch(given.watch)
	if err != nil {
		return nil, err
	}
	ownBefore, started := ownCPUSeconds(), time.Now()
	measuring.Store(true)
	time.Sleep(given.seconds)
	measuring.Store(false)
	result.Seconds = time.Since(started).Seconds()
	result.OwnCPU = ownCPUSeconds() - ownBefore
	if result.Watched, err = stop(); err != nil {
		return nil, err
	}
	ending.Store(true)
	workers.Wait()
	if len(latencies) == 0 {
		return nil, fmt.Errorf("not one exchange was completed; the last failure: %s", result.Failure)
	}
	result.Exchanges = int64(len(latencies))
	result.P50, result.P99 = percentile(latencies, 50).Seconds(), percentile(latencies, 99).Seconds()
	result.Left = server.stop()
	return result, nil
}

// exchanges runs one worker until ending and returns the latencies of what ended while measuring.
func exchanges(address string, measuring, ending *atomic.Bool) (latencies []time.Duration, failures int64, failure error) {
	for !ending.Load() {
		started := time.Now()
		connection, err := exchange(address, modeEcho)
		took := time.Since(started)
		if err != nil {
			failures++
			failure = err
			// A refused connect costs nothing; without a rest the loop would only burn the processor.
			time.Sleep(time.Millisecond)
			continue
		}
		_ = connection.Close()
		if measuring.Load() {
			latencies = append(latencies, took)
		}
	}
	return latencies, failures, failure
}

// percentile sorts its argument and returns the smallest value that at least percent of all do not exceed.
func percentile(values []time.Duration, percent int) time.Duration {
	slices.Sort(values)
	rank := (len(values)*percent + 99) / 100
	return values[max(rank, 1)-1]
}
