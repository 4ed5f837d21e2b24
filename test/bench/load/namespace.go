package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
)

// setnsNumber is the system call setns(2), which the package syscall does not know on every architecture.
var setnsNumber = map[string]uintptr{"amd64": 308, "arm64": 268}

// listenIn listens inside the network namespace that the file names (none: this process's own). A socket stays in the
// namespace in which it was made, and what it accepts too, so one process can be both ends of a link.
func listenIn(namespace, address string) (net.Listener, error) {
	if namespace == "" {
		return net.Listen("tcp", address)
	}
	var listener net.Listener
	var failure error
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread, which is in the wrong namespace now, ends with this function.
		runtime.LockOSThread()
		if failure = enter(namespace); failure == nil {
			listener, failure = net.Listen("tcp", address)
		}
	}()
	<-done
	return listener, failure
}

// enter moves the calling thread into a network namespace. Needs CAP_SYS_ADMIN.
func enter(namespace string) error {
	number, known := setnsNumber[runtime.GOARCH]
	if !known {
		return fmt.Errorf("-namespace is not supported on %s", runtime.GOARCH)
	}
	file, err := os.Open(namespace)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, _, failure := syscall.RawSyscall(number, file.Fd(), syscall.CLONE_NEWNET, 0); failure != 0 {
		return fmt.Errorf("network namespace %s: %w", namespace, failure)
	}
	return nil
}
