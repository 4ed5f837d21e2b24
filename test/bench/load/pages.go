package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// watchSocketPages samples the memory of all TCP sockets of the machine until its result is called, which returns the
// largest number of pages seen.
func watchSocketPages() (stop func() int64) {
	done, peak := make(chan struct{}), make(chan int64)
	go func() {
		largest := socketPages()
		for {
			select {
			case <-done:
				peak <- largest
				return
			case <-time.After(sampleEvery):
				largest = max(largest, socketPages())
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-peak
	}
}

// socketPages reads "TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 12" of /proc/net/sockstat (proc_net(5)); 0 when it is not there.
func socketPages() int64 {
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "TCP:" {
			continue
		}
		for index := 1; index+1 < len(fields); index += 2 {
			if fields[index] == "mem" {
				pages, _ := strconv.ParseInt(fields[index+1], 10, 64)
				return pages
			}
		}
	}
	return 0
}
