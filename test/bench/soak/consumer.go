package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

var (
	quick = pace{chunk: 64 << 10}
	slow  = pace{chunk: 32 << 10, rest: 5 * time.Millisecond}
)

// streamDeadline bounds a stream from connect to its end.
const streamDeadline = 30 * time.Second

func isTimeout(err error) bool {
	var failure net.Error
	return errors.As(err, &failure) && failure.Timeout()
}

// atOnce runs the two directions of a stream and returns the more telling of their errors: what is wrong before what failed.
func atOnce(one, other func() error) error {
	var first, second error
	var running sync.WaitGroup
	running.Go(func() { first = one() })
	second = other()
	running.Wait()
	var wrong wrongError
	if first == nil || (second != nil && errors.As(second, &wrong)) {
		return second
	}
	return first
}

// consume is a consumer's whole stream.
func consume(address string, head header, count *tally) {
	count.streams.Add(1)
	from := time.Now()
	dialed, err := net.DialTimeout("tcp", address, streamDeadline)
	if err != nil {
		count.ended("consumer", head, from, refusedError{err})
		return
	}
	connection := dialed.(*net.TCPConn)
	defer connection.Close()
	_ = connection.SetDeadline(from.Add(streamDeadline))
	if head.kind == closeAtOnce {
		count.ended("consumer", head, from, nil)
		return
	}
	err = consumerSide(connection, head, count)
	if head.kind == writeAndClose && err == nil {
		_ = connection.Close()
		count.promise(head.id, from)
	}
	count.ended("consumer", head, from, err)
}

func consumerSide(connection *net.TCPConn, head header, count *tally) error {
	compared := func(bytes int) { count.compared.Add(int64(bytes)) }
	sendAll := func() error {
		if err := send(connection, head.id, toBackend, 0, head.up, quick); err != nil {
			return err
		}
		return connection.CloseWrite()
	}
	receiveAll := func() error {
		if err := receive(connection, head.id, toConsumer, head.down, head.kind.consumerPace(), compared); err != nil {
			return err
		}
		return receiveEnd(connection)
	}
	greet := func() error { return receiveGreeting(connection) }
	introduce := func() error {
		if _, err := connection.Write(head.bytes()); err != nil {
			return refusedError{err}
		}
		return nil
	}
	switch head.kind {
	case serverFirst:
		return inOrder(greet, introduce, func() error { return atOnce(sendAll, receiveAll) })
	case consumerEndsFirst:
		return inOrder(introduce, greet, sendAll, receiveAll)
	case backendEndsFirst:
		return inOrder(introduce, greet, receiveAll, sendAll)
	case consumerResets:
		return inOrder(introduce, greet,
			func() error { return send(connection, head.id, toBackend, 0, head.up, quick) },
			func() error { return connection.SetLinger(0) })
	case backendResets:
		// No more than the backend reads: a failed write would take the error that the read must see.
		return inOrder(introduce, greet,
			func() error { return send(connection, head.id, toBackend, 0, head.up, quick) },
			func() error { return receiveReset(connection) })
	case consumerCuts:
		return inOrder(introduce, greet,
			func() error {
				return atOnce(
					func() error { return send(connection, head.id, toBackend, 0, head.up/2, quick) },
					func() error { return receive(connection, head.id, toConsumer, head.down/2, quick, compared) })
			},
			func() error { return connection.SetLinger(0) })
	case backendCuts:
		return inOrder(introduce, greet, func() error {
			return receiveCut(connection, func() error { return send(connection, head.id, toBackend, 0, head.up, quick) })
		})
	case writeAndClose:
		return inOrder(greet, introduce, func() error { return send(connection, head.id, toBackend, 0, head.up, quick) })
	default:
		return inOrder(introduce, greet, func() error { return atOnce(sendAll, receiveAll) })
	}
}

// refusedError is an error before the backend's greeting: a new connection that failed, not an established one.
type refusedError struct{ cause error }

func (refused refusedError) Error() string { return "before the greeting: " + refused.cause.Error() }

func (refused refusedError) Unwrap() error { return refused.cause }

func receiveGreeting(connection *net.TCPConn) error {
	buffer := make([]byte, len(greeting))
	got, err := io.ReadFull(connection, buffer)
	if string(buffer[:got]) != string(greeting[:got]) {
		return wrongError{what: "a wrong greeting"}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return wrongError{what: "a clean end before the greeting", early: true}
	}
	if err != nil {
		return refusedError{err}
	}
	return nil
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
