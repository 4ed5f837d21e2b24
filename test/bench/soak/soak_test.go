package main

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// A direct connection is TCP as it is: whatever the soak finds there is a fault of the soak.
func TestNothingIsFoundOnADirectConnection(t *testing.T) {
	count := newTally()
	server := backendOf(t, count)
	churnFor(server.listener.Addr().String(), count, server)
	if count.counts != (counts{}) {
		t.Errorf("found %+v", count.counts)
	}
	if count.streams.Load() == 0 || count.compared.Load() == 0 {
		t.Errorf("%d streams, %d bytes compared", count.streams.Load(), count.compared.Load())
	}
}

// A relay that copies both ways and passes every end on as a clean one, as many do.
func TestARelayThatTurnsResetsIntoCleanEndsIsFound(t *testing.T) {
	count := newTally()
	server := backendOf(t, count)
	relay := relayTo(t, server.listener.Addr().String(), func([]byte) {})
	churnFor(relay, count, server)
	if count.counts.Mismatches == 0 {
		t.Errorf("found %+v", count.counts)
	}
}

func TestARelayThatChangesBytesIsFound(t *testing.T) {
	count := newTally()
	server := backendOf(t, count)
	relay := relayTo(t, server.listener.Addr().String(), func(data []byte) {
		if len(data) > 1000 {
			data[500] ^= 1
		}
	})
	head := header{kind: exchange, id: 1, up: 100_000, down: 100_000}
	consume(relay, head, count)
	server.rest()
	if count.counts.Mismatches == 0 {
		t.Errorf("found %+v", count.counts)
	}
}

func TestAStreamThatArrivesTwiceIsFound(t *testing.T) {
	count := newTally()
	server := backendOf(t, count)
	for range 2 {
		consume(server.listener.Addr().String(), header{kind: exchange, id: 1, up: 10, down: 10}, count)
	}
	server.rest()
	if count.counts != (counts{Twice: 1}) {
		t.Errorf("found %+v", count.counts)
	}
}

func TestOnlyAKillExcusesACleanEndThatIsTooEarly(t *testing.T) {
	early := wrongError{what: "a clean end", early: true}
	for name, given := range map[string]struct {
		kill bool
		want counts
	}{
		"SIGKILL": {kill: true, want: counts{CutByKill: 1}},
		"SIGTERM": {kill: false, want: counts{Mismatches: 1}},
	} {
		count := newTally()
		from := time.Now()
		count.disturb(given.kill)
		count.ended("consumer", header{}, from, early)
		if count.counts != given.want {
			t.Errorf("%s: found %+v", name, count.counts)
		}
	}
}

func TestABrokenPromiseIsALostStream(t *testing.T) {
	count := newTally()
	count.promise(1, time.Now())
	count.kept(1)
	count.kept(2)
	count.promise(2, time.Now())
	count.promise(3, time.Now())
	count.settle()
	if count.counts != (counts{Lost: 1}) {
		t.Errorf("found %+v", count.counts)
	}
}

func backendOf(t *testing.T, count *tally) *backend {
	server, err := startBackend("127.0.0.1:0", count)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.listener.Close() })
	return server
}

func churnFor(address string, count *tally, server *backend) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	churn(ctx, address, 8, count)
	server.rest()
	count.settle()
}

func relayTo(t *testing.T, address string, change func([]byte)) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			dialed, err := net.Dial("tcp", address)
			if err != nil {
				_ = accepted.Close()
				continue
			}
			go carry(accepted.(*net.TCPConn), dialed.(*net.TCPConn), change)
			go carry(dialed.(*net.TCPConn), accepted.(*net.TCPConn), change)
		}
	}()
	return listener.Addr().String()
}

func carry(from, to *net.TCPConn, change func([]byte)) {
	buffer := make([]byte, 64<<10)
	for {
		count, err := from.Read(buffer)
		change(buffer[:count])
		if _, failure := to.Write(buffer[:count]); failure != nil || err != nil {
			_ = to.CloseWrite()
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}
