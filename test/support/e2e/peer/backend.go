package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

const backendPort = ":8080"

// runBackend serves HTTP and the echo of frames on one port: a frame begins with a zero byte (16 MiB are never sent).
func runBackend() error {
	listener, err := net.Listen("tcp", backendPort)
	if err != nil {
		return err
	}
	requests := &handedOver{Listener: listener, connections: make(chan net.Conn)}
	fail := make(chan error, 2)
	go func() { fail <- http.Serve(requests, backendHandler()) }()
	go func() { fail <- accept(listener, requests.connections) }()
	return <-fail
}

// backendHandler answers GET / with a greeting and POST /digest with the SHA-256 of what was sent.
func backendHandler() http.Handler {
	mux := http.NewServeMux()
	name, _ := os.Hostname()
	mux.HandleFunc("GET /{$}", func(answer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(answer, "private api on %s\n", name)
	})
	mux.HandleFunc("POST /digest", func(answer http.ResponseWriter, request *http.Request) {
		hash := sha256.New()
		if _, err := io.Copy(hash, request.Body); err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprint(answer, hex.EncodeToString(hash.Sum(nil)))
	})
	return mux
}

// handedOver is a listener whose connections were accepted by somebody else.
type handedOver struct {
	net.Listener
	connections chan net.Conn
}

func (from *handedOver) Accept() (net.Conn, error) { return <-from.connections, nil }

// peeked is a connection of which the reader may hold bytes already.
type peeked struct {
	*net.TCPConn
	reader *bufio.Reader
}

func (connection *peeked) Read(into []byte) (int, error) { return connection.reader.Read(into) }

func accept(listener net.Listener, requests chan<- net.Conn) error {
	for {
		accepted, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			connection := &peeked{accepted.(*net.TCPConn), bufio.NewReader(accepted)}
			first, err := connection.reader.Peek(1)
			switch {
			case err != nil:
				_ = connection.Close()
			case first[0] == 0:
				echo(connection)
			default:
				requests <- connection
			}
		}()
	}
}

// echo answers each frame with the same frame; after the other end's FIN it sends its own.
func echo(connection *peeked) {
	defer connection.Close()
	for {
		payload, err := readFrame(connection)
		if errors.Is(err, errCorrupt) {
			fmt.Fprintln(os.Stderr, "echo:", err)
			// Not what was sent, so that the consumer counts wrong bytes and not a broken connection.
			payload, err = []byte(err.Error()), nil
		}
		if err == nil {
			err = writeFrame(connection, payload)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_ = connection.SetLinger(0)
			}
			return
		}
	}
}
