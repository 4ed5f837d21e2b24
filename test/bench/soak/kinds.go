package main

import "math/rand/v2"

// kind is what happens on one stream.
type kind uint8

const (
	// exchange: both sides send at once, and each ends its direction when it is done.
	exchange kind = iota
	// serverFirst: the consumer says nothing until it has the greeting.
	serverFirst
	// consumerEndsFirst: the backend answers only after the consumer's FIN.
	consumerEndsFirst
	// backendEndsFirst: the consumer sends only after the backend's FIN.
	backendEndsFirst
	// consumerResets and backendResets: one side resets in the middle, and the other must see a reset.
	consumerResets
	backendResets
	// consumerCuts and backendCuts: one side resets while both send as fast as they can.
	consumerCuts
	backendCuts
	// slowConsumer and slowBackend read much more slowly than the other side writes.
	slowConsumer
	slowBackend
	// writeAndClose: the consumer closes at once after its last byte, and all of it must arrive.
	writeAndClose
	// closeAtOnce: the consumer connects and closes.
	closeAtOnce
	kinds
)

var kindNames = [kinds]string{
	"exchange", "server first", "consumer ends first", "backend ends first", "consumer resets", "backend resets",
	"consumer cuts", "backend cuts",
	"slow consumer", "slow backend", "write and close", "close at once",
}

func (what kind) String() string { return kindNames[what] }

// randomHeader draws a kind and sizes: mostly small, sometimes several MiB.
func randomHeader(id uint64) header {
	head := header{kind: kind(rand.IntN(int(kinds))), id: id, up: randomSize(), down: randomSize()}
	switch head.kind {
	case slowConsumer:
		head.down = 1<<20 + rand.Uint64N(2<<20)
	case slowBackend:
		head.up = 1<<20 + rand.Uint64N(2<<20)
	case consumerCuts, backendCuts:
		head.up, head.down = 1<<20+rand.Uint64N(7<<20), 1<<20+rand.Uint64N(7<<20)
	case writeAndClose:
		head.down = 0
	}
	return head
}

func randomSize() uint64 {
	switch rand.IntN(20) {
	case 0:
		return 0
	case 1:
		return rand.Uint64N(8 << 20)
	case 2, 3, 4:
		return rand.Uint64N(512 << 10)
	default:
		return rand.Uint64N(8 << 10)
	}
}

// paces of the two readers of a stream.
func (what kind) consumerPace() pace {
	if what == slowConsumer {
		return slow
	}
	return quick
}

func (what kind) backendPace() pace {
	if what == slowBackend {
		return slow
	}
	return quick
}
