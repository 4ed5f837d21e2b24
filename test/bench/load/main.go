// Command load makes and measures TCP traffic for the benchmarks. It prints one JSON object on standard output.
//
// The program is both ends of what is measured: its consumers dial -connect, its backend listens on -backend, and
// the thing under test (or nothing) is between the two. So bytes are counted where they arrive, in one process.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// settings are the flags of all modes; each mode uses those that its own comment names.
type settings struct {
	connect   string
	backend   string
	namespace string
	direction string
	streams   int
	idle      int
	atOnce    int
	reset     bool
	seconds   time.Duration
	warm      time.Duration
	count     int
	bursts    int
	pause     time.Duration
	watch     watchList
}

// watchList collects repeated -watch NAME:PID flags: processes whose CPU time and memory are sampled.
type watchList []watched

func (list *watchList) String() string { return fmt.Sprint(*list) }

func (list *watchList) Set(text string) error {
	name, pid, found := strings.Cut(text, ":")
	if !found {
		return fmt.Errorf("-watch takes NAME:PID, got %q", text)
	}
	var number int
	if _, err := fmt.Sscanf(pid, "%d", &number); err != nil {
		return fmt.Errorf("-watch takes NAME:PID, got %q", text)
	}
	*list = append(*list, watched{name: name, pid: number})
	return nil
}

var modes = map[string]func(settings) (any, error){
	"throughput": throughput,
	"rate":       rate,
	"idle":       idle,
	"reply":      reply,
}

func main() {
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: load throughput|rate|idle|reply [flags]")
		os.Exit(2)
	}
	var given settings
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&given.connect, "connect", "", "address that the consumers dial")
	flags.StringVar(&given.backend, "backend", "", "address on which the backend listens")
	flags.StringVar(&given.namespace, "namespace", "", "file of the network namespace in which the backend listens; empty: this one")
	flags.StringVar(&given.direction, "direction", "up", "up (consumer to backend), down or both")
	flags.IntVar(&given.streams, "streams", 1, "connections open at once")
	flags.IntVar(&given.idle, "idle", 0, "throughput: further connections that stay open and silent")
	flags.IntVar(&given.atOnce, "at-once", 1, "throughput, idle: connections that are opened at the same time")
	flags.BoolVar(&given.reset, "reset", false, "throughput: end the connections with a reset, so that nothing goes on behind the window")
	flags.DurationVar(&given.seconds, "for", 2*time.Second, "length of the measured window")
	flags.DurationVar(&given.warm, "warm", 300*time.Millisecond, "time before the window that is not measured")
	flags.IntVar(&given.count, "count", 0, "reply: exchanges one after the other; throughput: such beside the streams, after the window")
	flags.IntVar(&given.bursts, "bursts", 0, "reply: bursts of -streams exchanges at once")
	flags.DurationVar(&given.pause, "pause", time.Second, "reply: rest before each burst")
	flags.Var(&given.watch, "watch", "NAME:PID of a process whose CPU and memory are sampled; repeatable")
	_ = flags.Parse(os.Args[2:])
	result, err := modes[os.Args[1]](given)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		os.Exit(1)
	}
}
