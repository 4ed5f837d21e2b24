package main

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The first byte of a connection says what the backend does with it.
const (
	// modeEcho: answer with one byte, then read until the end. Every connection starts like this.
	modeEcho = 'e'
	modeUp   = 'u'
	modeDown = 'd'
	modeBoth = 'b'
)

// restPatience is how long a tunnel may take to pass the ends of all connections on, on a busy machine.
const restPatience = 10 * time.Second

// backend is the server behind the tunnel.
type backend struct {
	listener net.Listener
	// received counts bytes that consumers sent after the first one.
	received atomic.Int64
	open     sync.Map
	handlers sync.WaitGroup
}

func startBackend(given settings) (*backend, error) {
	listener, err := listenIn(given.namespace, given.backend)
	if err != nil {
		return nil, err
	}
	server := &backend{listener: listener}
	go server.accept()
	return server, nil
}

func (server *backend) accept() {
	for {
		connection, err := server.listener.Accept()
		if err != nil {
			return
		}
		server.handlers.Add(1)
		server.open.Store(connection, nil)
		go func() {
			defer server.handlers.Done()
			defer server.open.Delete(connection)
			defer connection.Close()
			server.handle(connection.(*net.TCPConn))
		}()
	}
}

func (server *backend) handle(connection *net.TCPConn) {
	var mode [1]byte
	if _, err := connection.Read(mode[:]); err != nil {
		return
	}
	if _, err := connection.Write(mode[:]); err != nil {
		return
	}
	switch mode[0] {
	case modeDown:
		source(connection)
	case modeBoth:
		go source(connection)
		sink(connection, &server.received)
	default:
		sink(connection, &server.received)
	}
}

// rest waits until every connection has ended by itself, closes those that have not and returns their number: a
// tunnel that forgets to tell the backend about an end is found this way.
func (server *backend) rest(patience time.Duration) int {
	ended := make(chan struct{})
	go func() { server.handlers.Wait(); close(ended) }()
	left := 0
	select {
	case <-ended:
	case <-time.After(patience):
		server.open.Range(func(connection, _ any) bool {
			left++
			_ = connection.(net.Conn).Close()
			return true
		})
	}
	return left
}

// stop ends the backend. See rest for the result.
func (server *backend) stop() int {
	left := server.rest(restPatience)
	_ = server.listener.Close()
	return left
}
