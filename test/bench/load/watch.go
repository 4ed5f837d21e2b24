package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// clockTicks is USER_HZ, the unit of the times in /proc/PID/stat; it is 100 on every Linux that Go runs on.
const clockTicks = 100

// sampleEvery is the distance of two looks at the memory of the watched processes.
const sampleEvery = 100 * time.Millisecond

type watched struct {
	name string
	pid  int
}

// usage is what one process spent between the start and the end of a window.
type usage struct {
	// CPUSeconds is user plus system time of all threads.
	CPUSeconds float64 `json:"cpuSeconds"`
	// PeakRssAnon is the largest RssAnon seen, in bytes.
	PeakRssAnon int64 `json:"peakRssAnon"`
	// Descriptors is the number of open files at the end of the window.
	Descriptors int `json:"descriptors"`
}

// watch samples processes until its stop is called, which returns what each has used since then.
func watch(list []watched) (stop func() (map[string]usage, error), err error) {
	before := make(map[string]float64, len(list))
	peaks := make(map[string]int64, len(list))
	for _, process := range list {
		if before[process.name], err = cpuSeconds(process.pid); err != nil {
			return nil, err
		}
	}
	done := make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Add(1)
	go func() {
		defer sampling.Done()
		for {
			for _, process := range list {
				if bytes, err := rssAnon(process.pid); err == nil {
					peaks[process.name] = max(peaks[process.name], bytes)
				}
			}
			select {
			case <-done:
				return
			case <-time.After(sampleEvery):
			}
		}
	}()
	return func() (map[string]usage, error) {
		used := make(map[string]usage, len(list)+1)
		for _, process := range list {
			after, err := cpuSeconds(process.pid)
			if err != nil {
				return nil, err
			}
			used[process.name] = usage{CPUSeconds: after - before[process.name], Descriptors: descriptors(process.pid)}
		}
		close(done)
		sampling.Wait()
		for name, entry := range used {
			entry.PeakRssAnon = peaks[name]
			used[name] = entry
		}
		return used, nil
	}, nil
}

// cpuSeconds is user plus system time of a process with all its threads, dead ones included (fields 14 and 15 of
// /proc/PID/stat, see proc_pid_stat(5)). The name in field 2 may hold blanks and brackets, so counting starts after it.
func cpuSeconds(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const user, system = 14 - 3, 15 - 3
	var ticks int64
	for _, index := range []int{user, system} {
		number, err := strconv.ParseInt(fields[index], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += number
	}
	return float64(ticks) / clockTicks, nil
}

// rssAnon is the resident anonymous memory of a process in bytes.
func rssAnon(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, "RssAnon:"); found {
			kibibytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kibibytes * 1024, err
		}
	}
	return 0, fmt.Errorf("no RssAnon of process %d", pid)
}

func descriptors(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return -1
	}
	return len(entries)
}

// ownCPUSeconds is what this program itself has used: the part of the machine that the tunnels did not get.
func ownCPUSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
