package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// patternLength is prime, so that bytes which arrive twice, late or shifted never match by chance.
const patternLength = 1_048_573

// pattern is random; every direction of every stream reads it from another place.
var pattern = func() []byte {
	source := rand.NewChaCha8([32]byte{7})
	table := make([]byte, patternLength)
	_, _ = source.Read(table)
	// A second copy makes every slice of up to patternLength bytes contiguous.
	return append(table, table...)
}()

type direction uint64

const (
	toBackend  direction = 0x9e3779b97f4a7c15
	toConsumer direction = 0xc2b2ae3d27d4eb4f
)

// expected are the bytes at offset of a stream in one direction; count is at most patternLength.
func expected(id uint64, way direction, offset, count uint64) []byte {
	mixed := (id + 1) * uint64(way)
	start := (mixed>>17 + offset) % patternLength
	return pattern[start : start+count]
}

// headerLength is the size of what a consumer sends first.
const headerLength = 40

// header tells the backend what the consumer will do and what it expects.
type header struct {
	kind kind
	id   uint64
	up   uint64
	down uint64
}

var headerMagic = []byte("netaminity soak\n")

func (head header) bytes() []byte {
	data := make([]byte, 0, headerLength)
	data = append(data, headerMagic...)
	data = binary.BigEndian.AppendUint64(data, head.id<<8|uint64(head.kind))
	data = binary.BigEndian.AppendUint64(data, head.up)
	return binary.BigEndian.AppendUint64(data, head.down)
}

// parseHeader reports false when the bytes are not a header, which only a tunnel that mixes streams can cause.
func parseHeader(data []byte) (header, bool) {
	if !bytes.HasPrefix(data, headerMagic) {
		return header{}, false
	}
	first := binary.BigEndian.Uint64(data[16:])
	head := header{kind: kind(first & 0xff), id: first >> 8}
	head.up, head.down = binary.BigEndian.Uint64(data[24:]), binary.BigEndian.Uint64(data[32:])
	return head, head.kind < kinds
}

// greeting is what the backend says before it has read anything.
var greeting = []byte("netaminity soak backend: hello\n")

// wrongError is a byte, or an end, that is not what the other side sent.
type wrongError struct {
	what string
	// early is true for a clean end before the last byte.
	early bool
}

func (wrong wrongError) Error() string { return wrong.what }

// pace slows a reader or a writer down: a rest after each chunk.
type pace struct {
	chunk int
	rest  time.Duration
}

// send writes bytes from..to of the pattern in chunks of random size.
func send(connection *net.TCPConn, id uint64, way direction, from, to uint64, how pace) error {
	for from < to {
		count := min(uint64(1+rand.IntN(how.chunk)), to-from)
		if _, err := connection.Write(expected(id, way, from, count)); err != nil {
			return err
		}
		from += count
		if how.rest > 0 {
			time.Sleep(how.rest)
		}
	}
	return nil
}

// receive reads total bytes and compares each; compared counts them.
func receive(connection *net.TCPConn, id uint64, way direction, total uint64, how pace, compared func(int)) error {
	buffer := make([]byte, how.chunk)
	for at := uint64(0); at < total; {
		count, err := connection.Read(buffer[:min(uint64(len(buffer)), total-at)])
		if !bytes.Equal(buffer[:count], expected(id, way, at, uint64(count))) {
			return wrongError{what: fmt.Sprintf("wrong bytes in the %d after offset %d", count, at)}
		}
		compared(count)
		at += uint64(count)
		if errors.Is(err, io.EOF) && at < total {
			return wrongError{what: fmt.Sprintf("a clean end after %d of %d bytes", at, total), early: true}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if how.rest > 0 {
			time.Sleep(how.rest)
		}
	}
	return nil
}

// receiveEnd waits for a clean end and for nothing else.
func receiveEnd(connection *net.TCPConn) error {
	var extra [1]byte
	count, err := connection.Read(extra[:])
	if count > 0 {
		return wrongError{what: "bytes after the last one"}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// receiveReset waits for the error that a reset by the other end must cause, through whatever arrives before it.
func receiveReset(connection *net.TCPConn) error {
	buffer := make([]byte, 64<<10)
	for {
		_, err := connection.Read(buffer)
		if errors.Is(err, io.EOF) {
			return wrongError{what: "a reset arrived as a clean end", early: true}
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return err
		}
		if err != nil {
			return nil
		}
	}
}

// receiveCut sends all the while and waits for the reset by the other end. Of the two calls that wait for it, the system
// tells only one: when that was the write, the read may end like a clean end.
func receiveCut(connection *net.TCPConn, sendAll func() error) error {
	var sent error
	reset := atOnce(func() error { sent = sendAll(); return nil }, func() error { return receiveReset(connection) })
	if _, clean := reset.(wrongError); clean && sent != nil && !isTimeout(sent) {
		return nil
	}
	return reset
}
