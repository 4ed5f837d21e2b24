package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame is the payload's length (4 bytes, big endian), its SHA-256, and the payload.
const headerSize = 4 + sha256.Size

// Below 16 MiB, so that the first byte of a frame is zero.
const maxPayload = 1 << 20

var errCorrupt = errors.New("wrong bytes")

func writeFrame(to io.Writer, payload []byte) error {
	frame := make([]byte, headerSize, headerSize+len(payload))
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	digest := sha256.Sum256(payload)
	copy(frame[4:], digest[:])
	_, err := to.Write(append(frame, payload...))
	return err
}

// readFrame gives io.EOF only between two frames.
func readFrame(from io.Reader) ([]byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if length > maxPayload {
		return nil, fmt.Errorf("%w: a frame of %d bytes", errCorrupt, length)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(from, payload); err != nil {
		return nil, cutOff(err)
	}
	if digest := sha256.Sum256(payload); !bytes.Equal(digest[:], header[4:]) {
		return nil, fmt.Errorf("%w: the checksum differs", errCorrupt)
	}
	return payload, nil
}

// exchange sends random bytes and wants the same bytes back.
func exchange(with io.ReadWriter, size int) error {
	payload := make([]byte, size)
	_, _ = rand.Read(payload)
	if err := writeFrame(with, payload); err != nil {
		return err
	}
	answer, err := readFrame(with)
	if err != nil {
		return cutOff(err)
	}
	if !bytes.Equal(answer, payload) {
		return fmt.Errorf("%w: another answer than was sent", errCorrupt)
	}
	return nil
}

// cutOff tells an end in the middle from one where an end is right.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
