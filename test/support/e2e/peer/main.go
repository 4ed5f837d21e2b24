// Peer is both ends of the end-to-end tests: `peer backend` on the private side, `peer consumer` on the cloud side.
// Static, so that an image with nothing else in it can run it.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	fail := make(chan error, 1)
	switch role {
	case "backend":
		go func() { fail <- runBackend() }()
	case "consumer":
		go func() { fail <- runConsumer() }()
	default:
		fmt.Fprintln(os.Stderr, "usage: peer backend|consumer")
		os.Exit(2)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	select {
	case err := <-fail:
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	case <-stop:
	}
}
