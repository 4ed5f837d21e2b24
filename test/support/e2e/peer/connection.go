package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A node remembers for two minutes where it sent a connection that nobody answered, and sends the next one from the same port
// there too. So each connection has a port that none had before it for a quarter of an hour, below those that the kernel chooses.
const (
	firstPort = 10_000
	portCount = 22_000
)

var portsUsed atomic.Uint32

// Time between two exchanges of an established connection.
const streamPause = 25 * time.Millisecond

// Time after which a stream that could not be made is tried again.
const streamRetry = 100 * time.Millisecond

func nextPort() int {
	return firstPort + int(portsUsed.Add(1)%portCount)
}

func dial(address string, port int, deadline time.Time) (*peeked, error) {
	made, err := (&net.Dialer{Deadline: deadline, LocalAddr: &net.TCPAddr{Port: port}}).Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	connection := made.(*net.TCPConn)
	_ = connection.SetDeadline(deadline)
	return &peeked{connection, bufio.NewReader(connection)}, nil
}

// finish closes our direction and wants the other one to end without another byte.
func (connection *peeked) finish() error {
	if err := connection.CloseWrite(); err != nil {
		return err
	}
	_, err := connection.reader.ReadByte()
	if err == nil {
		return fmt.Errorf("%w: more than was sent", errCorrupt)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// attempt makes one connection with one exchange.
func attempt(address string, size int, timeout time.Duration) event {
	began, port := time.Now(), nextPort()
	connection, err := dial(address, port, began.Add(timeout))
	if err == nil {
		defer connection.Close()
		err = exchange(connection, size)
	}
	if err == nil {
		err = connection.finish()
	}
	return ended("new", port, began, err)
}

func ended(kind string, port int, began time.Time, err error) event {
	made := event{Kind: kind, Port: port, At: began.UnixMilli(), Took: time.Since(began).Milliseconds(), Result: reason(err)}
	if err != nil {
		made.Detail = err.Error()
	}
	return made
}

func reason(err error) string {
	var unresolved *net.DNSError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errCorrupt):
		return "corrupt"
	case errors.As(err, &unresolved):
		return "unresolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "ended early"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "timeout"
	}
	return "failed"
}

// keepStream keeps one established connection, and makes another one whenever it ends.
func (running *load) keepStream() {
	defer running.running.Done()
	for running.stopped.Err() == nil {
		var connection *peeked
		port := nextPort()
		opened := running.tracked(func() event {
			began := time.Now()
			var err error
			connection, err = dial(running.order.Address, port, began.Add(milliseconds(running.order.Attempt)))
			if err == nil {
				err = exchange(connection, 1024)
			}
			return ended("new", port, began, err)
		})
		if opened.Result == "ok" {
			running.keep(running.useStream(connection, port))
		} else {
			running.pause(streamRetry)
		}
		if connection != nil {
			_ = connection.Close()
		}
	}
}

// useStream exchanges until the stream's time is over, the load is stopped, or it breaks.
func (running *load) useStream(connection *peeked, port int) event {
	running.exchanging(1)
	defer running.exchanging(-1)
	began := time.Now()
	count := 0
	var err error
	for err == nil && running.stopped.Err() == nil && (running.order.Life == 0 || time.Since(began) < milliseconds(running.order.Life)) {
		_ = connection.SetDeadline(time.Now().Add(milliseconds(running.order.Stall)))
		if err = exchange(connection, 1024+count%4096); err == nil {
			count++
			running.pause(streamPause)
		}
	}
	if err == nil {
		_ = connection.SetDeadline(time.Now().Add(milliseconds(running.order.Stall)))
		err = connection.finish()
	}
	made := ended("stream", port, began, err)
	made.Exchanges = count
	return made
}

func (running *load) pause(duration time.Duration) {
	select {
	case <-running.stopped.Done():
	case <-time.After(duration):
	}
}

func stringReader(text string) io.Reader { return strings.NewReader(text) }
