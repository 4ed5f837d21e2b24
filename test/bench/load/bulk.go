package main

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// bulkSize is how much one system call moves at most.
const bulkSize = 256 << 10

var bulk = make([]byte, bulkSize)

// sink discards what arrives until the end or an error, and counts it. MSG_TRUNC lets the kernel drop the bytes
// instead of copying them out (tcp(7)), so that the processor is left to what is measured.
func sink(connection *net.TCPConn, count *atomic.Int64) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return
	}
	for {
		var got uintptr
		var failure syscall.Errno
		err := raw.Read(func(descriptor uintptr) bool {
			got, _, failure = syscall.Syscall6(syscall.SYS_RECVFROM, descriptor, 0, bulkSize, syscall.MSG_TRUNC, 0, 0)
			return failure != syscall.EAGAIN
		})
		if errors.Is(failure, syscall.EINTR) {
			continue
		}
		if err != nil || failure != 0 || got == 0 {
			return
		}
		count.Add(int64(got))
	}
}

// source sends until the connection ends.
func source(connection *net.TCPConn) {
	for {
		if _, err := connection.Write(bulk); err != nil {
			return
		}
	}
}
