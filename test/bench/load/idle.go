package main

import (
	"time"
)

type idleResult struct {
	Streams int              `json:"streams"`
	Left    int              `json:"left"`
	Watched map[string]usage `json:"watched"`
}

// idle opens -streams connections (none: 0), lets them rest for -for and samples the watched processes meanwhile.
func idle(given settings) (any, error) {
	server, err := startBackend(given)
	if err != nil {
		return nil, err
	}
	defer server.listener.Close()
	connections, err := openStreams(given, modeEcho, given.streams)
	if err != nil {
		return nil, err
	}
	time.Sleep(given.warm)
	stop, err := watch(given.watch)
	if err != nil {
		return nil, err
	}
	time.Sleep(given.seconds)
	result := idleResult{Streams: len(connections)}
	if result.Watched, err = stop(); err != nil {
		return nil, err
	}
	for _, connection := range connections {
		_ = connection.Close()
	}
	result.Left = server.stop()
	return result, nil
}
