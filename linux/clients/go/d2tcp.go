//go:build linux

// Package d2tcp gives TCP messages deadlines under D2TCP on Linux.
//
//	if err := d2tcp.SendDeadline(conn, int64(len(reply)), 20*time.Millisecond); err != nil {
//		log.Print(err) // D2TCP is not attached here, say; the connection works as ever
//	}
//	conn.Write(reply)
//
// Nothing here needs a privilege. Numbers and structures are those of linux/include/d2tcp.h.
package d2tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// What a call can answer beside an errno of its own; for errors.Is.
var (
	// ErrNotAttached says that D2TCP is not attached where this program runs.
	ErrNotAttached = errors.New("D2TCP is not attached here")
	// ErrWrongControl says that the connection is not under D2TCP.
	ErrWrongControl = errors.New("the connection is not under D2TCP")
)

const (
	level        = 0xd27c
	message      = 1
	state        = 2
	one          = 1 << 20
	sizeOfState  = 136
	tcpCongested = 13 // TCP_CONGESTION
)

// State is what a connection does. Counts begin with the connection.
type State struct {
	ECN          bool // both ends agreed on ECN; without it the connection behaves as Reno
	SlowStart    bool
	Deadline     bool // a message with a deadline is being sent
	Expired      bool // and its deadline has passed
	Recovery     bool
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
}

// Control puts a socket under D2TCP before it connects or listens; it is a net.Dialer's or net.ListenConfig's
// Control. Where D2TCP is not attached the socket stays as it is.
func Control(_, _ string, raw syscall.RawConn) error {
	err := use(raw)
	if errors.Is(err, ErrNotAttached) {
		return nil
	}
	return err
}

// Use puts a socket under D2TCP. On one that is connected already ECN will not be negotiated.
func Use(conn syscall.Conn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return use(raw)
}

// SendDeadline says that the next size bytes written to conn should be acknowledged within the time.
func SendDeadline(conn syscall.Conn, size int64, within time.Duration) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var value [16]byte
	binary.NativeEndian.PutUint64(value[:8], uint64(size))
	binary.NativeEndian.PutUint64(value[8:], uint64(within.Nanoseconds()))
	return with(raw, func(fd int) error {
		return named(syscall.SetsockoptString(fd, level, message, string(value[:])))
	})
}

// GetState reads the connection's state. What the kernel side does not know is 0.
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
	}
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
