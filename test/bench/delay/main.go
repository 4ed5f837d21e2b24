// Command delay joins two TUN devices and holds every packet back for a fixed time, like a long cable; the cable may
// also have a rate with a router's queue before it, and lose packets.
//
// It makes the devices, prints "ready", and runs until SIGTERM or SIGINT. Whoever started it moves the devices into two
// network namespaces and gives them addresses. Needs CAP_NET_ADMIN.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

const (
	// packetSize is larger than every packet that the devices accept with their default MTU of 1500.
	packetSize = 2048
	// queueLength bounds the packets on their way in one direction; a full cable drops, as routers do.
	queueLength = 65536
	// megabit is in bytes.
	megabit = 1e6 / 8
)

type packet struct {
	due  time.Time
	data []byte
}

func main() {
	left := flag.String("left", "", "name of the first device")
	right := flag.String("right", "", "name of the second device")
	oneWay := flag.Duration("one-way", 0, "time that a packet needs in either direction")
	rate := flag.Float64("rate", 0, "Mbit/s of IP packets in either direction; 0: as fast as it goes")
	queue := flag.Int("queue", 256<<10, "bytes that may wait for the rate in either direction")
	loss := flag.Float64("loss", 0, "probability that a packet is lost, 0 to 1")
	seed := flag.Uint64("seed", 1, "which packets are lost")
	flag.Parse()
	if *rate < 0 || *queue < packetSize || *loss < 0 || *loss > 1 {
		fail(fmt.Errorf("-rate is not below 0, -queue at least %d, -loss between 0 and 1", packetSize))
	}
	shape := line{oneWay: *oneWay, bytesPerSecond: *rate * megabit, queue: *queue, loss: *loss}
	first, err := openTun(*left)
	if err != nil {
		fail(err)
	}
	second, err := openTun(*right)
	if err != nil {
		fail(err)
	}
	go carry(first, second, newLine(shape, *seed, 0))
	go carry(second, first, newLine(shape, *seed, 1))
	fmt.Println("ready")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "delay:", err)
	os.Exit(1)
}

// openTun makes a TUN device without packet information headers; it lives as long as the descriptor
// (Documentation/networking/tuntap.rst of the kernel).
func openTun(name string) (int, error) {
	descriptor, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("/dev/net/tun: %w", err)
	}
	var request struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	if name == "" || len(name) >= len(request.name) {
		return 0, fmt.Errorf("device name %q: 1 to %d bytes", name, len(request.name)-1)
	}
	copy(request.name[:], name)
	request.flags = syscall.IFF_TUN | syscall.IFF_NO_PI
	_, _, failure := syscall.Syscall(syscall.SYS_IOCTL, uintptr(descriptor), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request)))
	if failure != 0 {
		return 0, fmt.Errorf("device %s: %w", name, failure)
	}
	return descriptor, nil
}

// carry reads packets from one device and hands them to the other when they are due.
func carry(from, to int, way *line) {
	queue := make(chan packet, queueLength)
	go deliver(queue, to)
	runtime.LockOSThread()
	buffer := make([]byte, packetSize)
	for {
		count, err := syscall.Read(from, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			// EIO: the device is not up yet, or is just between two namespaces.
			time.Sleep(time.Millisecond)
			continue
		}
		due, arrives := way.accept(time.Now(), count)
		if !arrives {
			continue
		}
		select {
		case queue <- packet{due: due, data: append([]byte(nil), buffer[:count]...)}:
		default:
		}
	}
}

// deliver sleeps with nanosleep(2) on a thread of its own and with the least timer slack: the timers of the Go runtime
// may be a millisecond late, which on a link of 20 ms would be measured as ten per cent.
func deliver(queue <-chan packet, to int) {
	runtime.LockOSThread()
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, syscall.PR_SET_TIMERSLACK, 1, 0)
	for next := range queue {
		if rest := time.Until(next.due); rest > 0 {
			pause := syscall.NsecToTimespec(rest.Nanoseconds())
			_ = syscall.Nanosleep(&pause, nil)
		}
		_, _ = syscall.Write(to, next.data)
	}
}
