// Command delay joins two TUN devices and holds every packet back for a fixed time, like a long cable.
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
)

type packet struct {
	due  time.Time
	data []byte
}

func main() {
	left := flag.String("left", "", "name of the first device")
	right := flag.String("right", "", "name of the second device")
	oneWay := flag.Duration("one-way", 0, "time that a packet needs in either direction")
	flag.Parse()
	first, err := openTun(*left)
	if err != nil {
		fail(err)
	}
	second, err := openTun(*right)
	if err != nil {
		fail(err)
	}
	go carry(first, second, *oneWay)
	go carry(second, first, *oneWay)
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
func carry(from, to int, oneWay time.Duration) {
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
		select {
		case queue <- packet{due: time.Now().Add(oneWay), data: append([]byte(nil), buffer[:count]...)}:
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
