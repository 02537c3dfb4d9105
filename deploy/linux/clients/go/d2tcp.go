//go:build linux

// Package d2tcp gives TCP messages deadlines under D2TCP on Linux.
//
//	if err := d2tcp.SendDeadline(conn, int64(len(reply)), 20*time.Millisecond); err != nil {
//		log.Print(err) // for example, D2TCP is not attached here; the connection works as before
//	}
//	conn.Write(reply)
//
// No function here needs a privilege. Numbers and structures are as in deploy/linux/include/d2tcp.h.
package d2tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// Errors of a call in addition to an errno; for errors.Is.
var (
	// ErrNotAttached means that D2TCP is not attached where this program runs.
	ErrNotAttached = errors.New("D2TCP is not attached here")
	// ErrWrongControl means that the connection is not under D2TCP.
	ErrWrongControl = errors.New("the connection is not under D2TCP")
)

// Margin is the time that TimeToSend subtracts from a caller's time left. The caller's time ends when it has
// decoded the last byte, and the kernel's when it knows that the last byte has been received. Also, D2TCP
// completes a message at its deadline rather than before it.
const Margin = 80 * time.Millisecond

// MarginParts limits the margin to one part in so many of the time left, so that short deadlines stay useful.
const MarginParts = 4

const (
	level        = 0xd27c
	message      = 1
	state        = 2
	cancel       = 3
	expect       = 5
	endsPrevious = 1
	one          = 1 << 20
	sizeOfState  = 160
	tcpCongested = 13     // TCP_CONGESTION
	siocoutq     = 0x5411 // SIOCOUTQ
)

// Message is a message to be sent, with its deadline.
type Message struct {
	// Size is the length in bytes; 0 for all bytes written so far.
	Size   int64
	Within time.Duration
	// Tag is the program's own name for it, for Cancel.
	Tag uint64
	// EndsPrevious ends earlier messages with the bytes written so far.
	EndsPrevious bool
}

// State is the state of a connection. Counts begin with the connection.
type State struct {
	ECN          bool // both ends agreed on ECN; without it the connection behaves as Reno
	SlowStart    bool
	Deadline     bool // a message with a deadline is being sent
	Expired      bool // the deadline of that message has passed
	Recovery     bool
	Limited      bool // the user's budget of urgency is spent: D is at most 1 for now
	MSS          uint32
	Cwnd         float64 // in segments
	Ssthresh     uint32
	SRTT         time.Duration
	Alpha        float64 // extent of marking, 0 to 1
	D            float64 // imminence of the deadline, 1 without one
	P            float64 // alpha to the power of d; a cut takes half of it
	Queued       uint32  // messages whose last byte has not been acknowledged
	Messages     uint64
	Met, Missed  uint64
	TimeLeft     time.Duration // until the first message's deadline; negative when it has passed
	BytesLeft    uint64
	BytesAcked   uint64
	BytesMarked  uint64
	Windows      uint64
	Cuts, Losses uint64
	Timeouts     uint64
	Cancelled    uint64 // messages that were cancelled
	Tag          uint64 // of the first queued message; 0 without one
	Rule         uint32 // of the operator's policy, from 1; 0 if none governs the connection
}

// Control puts a socket under D2TCP before it connects or listens, as the Control of a net.Dialer or
// net.ListenConfig. Where D2TCP is not attached the socket is not changed.
func Control(_, _ string, raw syscall.RawConn) error {
	err := use(raw)
	if errors.Is(err, ErrNotAttached) {
		return nil
	}
	return err
}

// Use puts a socket under D2TCP. It does not negotiate ECN on a connected socket.
func Use(conn syscall.Conn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return use(raw)
}

// SendDeadline announces that the next size bytes written to conn should be acknowledged within the time.
func SendDeadline(conn syscall.Conn, size int64, within time.Duration) error {
	return Announce(conn, Message{Size: size, Within: within})
}

// Announce announces a message and its deadline.
func Announce(conn syscall.Conn, m Message) error {
	var value [32]byte
	binary.NativeEndian.PutUint64(value[:8], uint64(m.Size))
	binary.NativeEndian.PutUint64(value[8:], uint64(m.Within.Nanoseconds()))
	binary.NativeEndian.PutUint64(value[16:], m.Tag)
	if m.EndsPrevious {
		binary.NativeEndian.PutUint32(value[24:], endsPrevious)
	}
	return set(conn, message, value[:])
}

// Expect announces that the next size bytes read from conn should have been received within the time. It is for the
// receiving end, where `d2tcp receive` runs, and needs no change at the sender.
func Expect(conn syscall.Conn, size int64, within time.Duration) error {
	var value [16]byte
	binary.NativeEndian.PutUint64(value[:8], uint64(size))
	binary.NativeEndian.PutUint64(value[8:], uint64(within.Nanoseconds()))
	return set(conn, expect, value[:])
}

// Cancel cancels the messages with this tag, or all for 0: their unwritten bytes will never be written.
func Cancel(conn syscall.Conn, tag uint64) error {
	var value [8]byte
	binary.NativeEndian.PutUint64(value[:], tag)
	return set(conn, cancel, value[:])
}

// Settle cancels the first queued message, a broken-off reply, if its deadline has passed and it extends
// beyond the bytes written so far.
func Settle(conn syscall.Conn) error {
	now, err := GetState(conn)
	if err != nil || now.Queued == 0 || now.TimeLeft >= 0 {
		return err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var unacknowledged int32
	err = with(raw, func(fd int) error {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), siocoutq, uintptr(unsafe.Pointer(&unacknowledged)))
		if errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil || now.BytesLeft <= uint64(unacknowledged) {
		return err
	}
	return Cancel(conn, now.Tag)
}

// TimeToSend returns the time to announce for a caller's time left: less Margin, or less one part in
// MarginParts.
func TimeToSend(left time.Duration) time.Duration {
	return left - min(Margin, left/MarginParts)
}

// GetState reads the connection's state. Fields that the kernel side does not know are 0.
func GetState(conn syscall.Conn) (State, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return State{}, err
	}
	var value [sizeOfState]byte
	err = with(raw, func(fd int) error {
		length := uint32(len(value))
		_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), level, state,
			uintptr(unsafe.Pointer(&value[0])), uintptr(unsafe.Pointer(&length)), 0)
		if errno != 0 {
			return named(errno)
		}
		return nil
	})
	if err != nil {
		return State{}, err
	}
	return decode(value[:]), nil
}

func decode(value []byte) State {
	word := func(at int) uint32 { return binary.NativeEndian.Uint32(value[4*at:]) }
	long := func(at int) uint64 { return binary.NativeEndian.Uint64(value[48+8*at:]) }
	fraction := func(at int) float64 { return float64(word(at)) / one }
	flags := word(2)
	return State{
		ECN:         flags&1 != 0,
		SlowStart:   flags&2 != 0,
		Deadline:    flags&4 != 0,
		Expired:     flags&8 != 0,
		Recovery:    flags&16 != 0,
		Limited:     flags&32 != 0,
		MSS:         word(3),
		Cwnd:        float64(word(4)) + fraction(5),
		Ssthresh:    word(6),
		SRTT:        time.Duration(word(7)) * time.Microsecond,
		Alpha:       fraction(8),
		D:           fraction(9),
		P:           fraction(10),
		Queued:      word(11),
		Messages:    long(0),
		Met:         long(1),
		Missed:      long(2),
		TimeLeft:    time.Duration(long(3)),
		BytesLeft:   long(4),
		BytesAcked:  long(5),
		BytesMarked: long(6),
		Windows:     long(7),
		Cuts:        long(8),
		Losses:      long(9),
		Timeouts:    long(10),
		Cancelled:   long(11),
		Tag:         long(12),
		Rule:        word(38),
	}
}

func set(conn syscall.Conn, option int, value []byte) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return with(raw, func(fd int) error {
		return named(syscall.SetsockoptString(fd, level, option, string(value)))
	})
}

func use(raw syscall.RawConn) error {
	return with(raw, func(fd int) error {
		err := syscall.SetsockoptString(fd, syscall.IPPROTO_TCP, tcpCongested, "d2tcp")
		if errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("%w: %w", ErrNotAttached, err)
		}
		return err
	})
}

func with(raw syscall.RawConn, do func(fd int) error) error {
	var done error
	if err := raw.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil {
		return err
	}
	return done
}

func named(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOPROTOOPT):
		return fmt.Errorf("%w: %w", ErrNotAttached, err)
	case errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("%w: %w", ErrWrongControl, err)
	}
	return err
}
