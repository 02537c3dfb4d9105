//go:build linux

package d2tcp

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func attached() bool {
	controls, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	return err == nil && strings.Contains(string(controls), "d2tcp")
}

func TestWithoutTheHookTheErrorSaysSoAndTheConnectionWorks(t *testing.T) {
	if attached() {
		t.Skip("D2TCP is attached here")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialer := net.Dialer{Control: Control}
	client, err := dialer.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn := server.(*net.TCPConn)
	if err := SendDeadline(conn, 5, time.Millisecond); !errors.Is(err, ErrNotAttached) {
		t.Fatalf("SendDeadline: %v", err)
	}
	// Linux returns different errors from getsockopt and setsockopt for an unknown level.
	if _, err := GetState(conn); !errors.Is(err, ErrWrongControl) {
		t.Fatalf("GetState: %v", err)
	}
	if err := Use(conn); !errors.Is(err, ErrNotAttached) {
		t.Fatalf("Use: %v", err)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := client.Read(got); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestErrorsHaveNames(t *testing.T) {
	for errno, want := range map[syscall.Errno]error{
		syscall.ENOPROTOOPT: ErrNotAttached,
		syscall.EOPNOTSUPP:  ErrWrongControl,
		syscall.EINVAL:      syscall.EINVAL,
	} {
		if err := named(errno); !errors.Is(err, want) || !errors.Is(err, errno) {
			t.Errorf("%v became %v", errno, err)
		}
	}
}

func TestAStateIsReadFromItsBytes(t *testing.T) {
	value := make([]byte, sizeOfState)
	binary.NativeEndian.PutUint32(value[8:], 1|4)
	binary.NativeEndian.PutUint32(value[16:], 12)
	binary.NativeEndian.PutUint32(value[20:], one/2)
	binary.NativeEndian.PutUint32(value[36:], 2*one)
	binary.NativeEndian.PutUint64(value[72:], uint64(1<<64-5))
	binary.NativeEndian.PutUint64(value[128:], 7)
	binary.NativeEndian.PutUint64(value[144:], 9)
	binary.NativeEndian.PutUint32(value[152:], 3)
	state := decode(value)
	if !state.ECN || !state.Deadline || state.Expired || state.Cwnd != 12.5 || state.D != 2 ||
		state.TimeLeft != -5 || state.Timeouts != 7 || state.Tag != 9 || state.Rule != 3 {
		t.Errorf("%+v", state)
	}
}

func TestAMarginIsNeverMoreThanItsShare(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		600 * time.Millisecond: 520 * time.Millisecond,
		320 * time.Millisecond: 240 * time.Millisecond,
		20 * time.Millisecond:  15 * time.Millisecond,
	} {
		if got := TimeToSend(left); got != want {
			t.Errorf("of %v: %v", left, got)
		}
	}
}
