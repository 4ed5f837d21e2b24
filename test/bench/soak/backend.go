package main

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// backend serves all streams of the soak.
type backend struct {
	listener net.Listener
	count    *tally
	open     atomic.Int64
}

func startBackend(address string, count *tally) (*backend, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &backend{listener: listener, count: count}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			server.open.Add(1)
			go func() {
				defer server.open.Add(-1)
				defer connection.Close()
				server.handle(connection.(*net.TCPConn))
			}()
		}
	}()
	return server, nil
}

func (server *backend) handle(connection *net.TCPConn) {
	from := time.Now()
	// A little longer than the consumer's, so that of two sides that hang the consumer is the one that says so.
	_ = connection.SetDeadline(from.Add(streamDeadline + 5*time.Second))
	if _, err := connection.Write(greeting); err != nil {
		return
	}
	data := make([]byte, headerLength)
	got, err := io.ReadFull(connection, data)
	if got < headerLength {
		// A consumer that closed at once, or a stream cut before its header was complete: nothing was promised. But a
		// connection that nobody ever ends is one that the tunnel forgot.
		if isTimeout(err) {
			server.count.ended("backend", header{kind: closeAtOnce}, from, err)
		}
		return
	}
	head, valid := parseHeader(data)
	if !valid {
		server.count.ended("backend", header{}, from, wrongError{what: "a header that no consumer has sent"})
		return
	}
	server.count.arrived(head.id)
	server.count.ended("backend", head, from, server.side(connection, head))
}

func (server *backend) side(connection *net.TCPConn, head header) error {
	compared := func(bytes int) { server.count.compared.Add(int64(bytes)) }
	sendAll := func() error {
		if err := send(connection, head.id, toConsumer, 0, head.down, quick); err != nil {
			return err
		}
		return connection.CloseWrite()
	}
	receiveAll := func() error {
		return inOrder(func() error {
			return receive(connection, head.id, toBackend, head.up, head.kind.backendPace(), compared)
		}, func() error { return receiveEnd(connection) })
	}
	switch head.kind {
	case consumerEndsFirst:
		return inOrder(receiveAll, sendAll)
	case backendEndsFirst:
		return inOrder(sendAll, receiveAll)
	case consumerResets:
		return receiveReset(connection)
	case backendResets:
		return inOrder(
			func() error { return receive(connection, head.id, toBackend, head.up, quick, compared) },
			func() error { return connection.SetLinger(0) })
	case consumerCuts:
		return receiveCut(connection, func() error { return send(connection, head.id, toConsumer, 0, head.down, quick) })
	case backendCuts:
		return inOrder(
			func() error {
				return atOnce(
					func() error { return send(connection, head.id, toConsumer, 0, head.down/2, quick) },
					func() error { return receive(connection, head.id, toBackend, head.up/2, quick, compared) })
			},
			func() error { return connection.SetLinger(0) })
	case writeAndClose:
		err := receiveAll()
		if err == nil {
			server.count.kept(head.id)
		}
		return err
	default:
		return atOnce(sendAll, receiveAll)
	}
}
