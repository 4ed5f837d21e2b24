// Command soak churns streams of every kind through a proxy and a target of the compiled executable, restarts both at
// random meanwhile, and compares every byte. Its exit code is 1 when anything was wrong.
//
// The first three quarters of -for are disturbed by restarts. In the last quarter nothing is restarted, so that
// descriptors that the processes fail to close, and memory, can add up.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type settings struct {
	executable string
	address    string
	folder     string
	json       string
	duration   time.Duration
	workers    int
}

// restPatience is how long descriptors may take to be closed after the last stream.
const restPatience = 60 * time.Second

func init() {
	// The death signal of children is tied to the thread that started them; main starts all of them.
	runtime.LockOSThread()
}

func main() {
	var given settings
	flag.StringVar(&given.executable, "executable", "dist/netaminity", "the compiled executable")
	flag.StringVar(&given.address, "address", "127.0.0.1", "loopback address for everything that listens")
	flag.StringVar(&given.folder, "folder", ".", "folder for the logs")
	flag.StringVar(&given.json, "json", "", "file for the counts")
	flag.DurationVar(&given.duration, "for", 5*time.Minute, "length of the churn")
	flag.IntVar(&given.workers, "workers", 24, "streams at once")
	flag.Parse()
	interrupted, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	result, err := run(interrupted, given)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if !result.print(given.json) {
		os.Exit(1)
	}
}

func run(ctx context.Context, given settings) (*outcome, error) {
	count := newTally()
	server, err := startBackend(given.address+":0", count)
	if err != nil {
		return nil, err
	}
	defer server.listener.Close()
	made, err := newTunnel(given.executable, given.address, server.listener.Addr().String(), given.folder)
	if err != nil {
		return nil, err
	}
	for _, one := range made.ends {
		if err := one.start(); err != nil {
			return nil, err
		}
		defer func() { _ = one.process.Process.Kill() }()
	}
	if err := made.untilReady(); err != nil {
		return nil, err
	}
	result := &outcome{count: count}
	if err := result.disturbed(ctx, made, given); err != nil {
		return nil, err
	}
	if result.Forgotten += server.rest(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if result.Before, err = looks(made, nil); err != nil {
		return nil, err
	}
	calm, cancel := context.WithTimeout(ctx, given.duration/4)
	defer cancel()
	churn(calm, made.consumers, given.workers, count)
	result.Forgotten += server.rest()
	if result.After, err = looks(made, result.Before); err != nil {
		return nil, err
	}
	count.settle()
	for _, one := range made.ends {
		if err := one.stop(syscall.SIGTERM); err != nil {
			result.Misbehaved = append(result.Misbehaved, err.Error())
		}
	}
	return result, ctx.Err()
}

// disturbed churns for three quarters of the time while the ends are restarted one after the other.
func (result *outcome) disturbed(ctx context.Context, made *tunnel, given settings) error {
	stormy, cancel := context.WithTimeout(ctx, given.duration*3/4)
	defer cancel()
	var churning sync.WaitGroup
	churning.Go(func() { churn(stormy, made.consumers, given.workers, result.count) })
	defer churning.Wait()
	for pause(stormy, time.Second+rand.N(4*time.Second)) {
		one := made.ends[rand.IntN(len(made.ends))]
		how := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[rand.IntN(2)]
		over := result.count.disturb(how == syscall.SIGKILL)
		if err := one.stop(how); err != nil {
			result.Misbehaved = append(result.Misbehaved, err.Error())
		}
		gone := time.Now()
		if err := one.start(); err != nil {
			return err
		}
		if err := made.untilReady(); err != nil {
			return fmt.Errorf("after %v of the %s: %w", how, one.name, err)
		}
		result.Recoveries = append(result.Recoveries, time.Since(gone).Seconds())
		over()
	}
	return nil
}

// streamID numbers streams over all phases.
var streamID atomic.Uint64

// churn runs streams until the context ends, and returns when the last of them has ended.
func churn(ctx context.Context, address string, workers int, count *tally) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				consume(address, randomHeader(streamID.Add(1)), count)
				// While the proxy is down every connect is refused at once.
				pause(ctx, rand.N(10*time.Millisecond))
			}
		})
	}
	running.Wait()
}

// pause reports false when the context ended.
func pause(ctx context.Context, length time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(length):
		return true
	}
}

// rest waits until the backend has no stream left and returns how many stayed.
func (server *backend) rest() int {
	for deadline := time.Now().Add(10 * time.Second); server.open.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	return int(server.open.Load())
}

// looks reads the state of both ends; with the states of before it waits until nothing is leaked, or patience ends.
func looks(made *tunnel, before []state) ([]state, error) {
	// Streams that have just ended may still be on their way out.
	time.Sleep(time.Second)
	for deadline := time.Now().Add(restPatience); ; time.Sleep(500 * time.Millisecond) {
		var states []state
		for _, one := range made.ends {
			seen, err := one.look()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", one.name, err)
			}
			states = append(states, seen)
		}
		holds := func(index int) bool { return states[index].Streams > 0 || leaked(before[index], states[index]) > 0 }
		if before == nil || time.Now().After(deadline) || !slices.ContainsFunc([]int{0, 1}, holds) {
			return states, nil
		}
	}
}
