//go:build linux

// Package d2tcpgrpc tells D2TCP the deadlines of gRPC calls, without a change to the service.
//
//	deadlines := d2tcpgrpc.New()
//	server := grpc.NewServer(grpc.StatsHandler(deadlines))
//	server.Serve(deadlines.Listener(listener))
//
// When a response is handed to the transport the kernel is told how long it is and how much of the caller's deadline is
// left, less d2tcp.Margin. Calls without a deadline are left alone. Where D2TCP is not attached nothing is told, and
// nothing fails.
//
// What is told is the length of the message itself: frames, headers, trailers and TLS come on top, so that an
// announcement ends a little before its last byte rather than never. Several responses at once on one connection share
// it frame by frame; each is then announced to end a little early or late.
package d2tcpgrpc

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	d2tcp "example.org/duetime/linux/clients/go"
	"google.golang.org/grpc/stats"
)

// Deadlines is a server's stats handler, and knows its connections by the listener that it wraps.
type Deadlines struct {
	connections sync.Map // [2]string, remote and local address -> *conn
	tags        atomic.Uint64
	kernel      kernel
}

// kernel is what is called of package d2tcp.
type kernel struct {
	announce func(syscall.Conn, d2tcp.Message) error
	cancel   func(syscall.Conn, uint64) error
	settle   func(syscall.Conn) error
}

// New gives one for a server.
func New() *Deadlines {
	return &Deadlines{kernel: kernel{d2tcp.Announce, d2tcp.Cancel, d2tcp.Settle}}
}

// Listener wraps the listener that the server serves. What is not TCP passes through.
func (d *Deadlines) Listener(inner net.Listener) net.Listener {
	return &listener{inner, d}
}

type listener struct {
	net.Listener
	deadlines *Deadlines
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	tcp, ok := accepted.(*net.TCPConn)
	if err != nil || !ok {
		return accepted, err
	}
	c := &conn{Conn: tcp, tcp: tcp, deadlines: l.deadlines}
	l.deadlines.connections.Store(c.key(), c)
	return c, nil
}

// conn counts what has been written to a connection.
type conn struct {
	net.Conn
	tcp       *net.TCPConn
	deadlines *Deadlines
	written   atomic.Int64
	announced atomic.Bool
}

func (c *conn) key() [2]string {
	return [2]string{c.RemoteAddr().String(), c.LocalAddr().String()}
}

func (c *conn) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(data)
	c.written.Add(int64(n))
	return n, err
}

func (c *conn) Close() error {
	c.deadlines.connections.CompareAndDelete(c.key(), c)
	return c.Conn.Close()
}

// SyscallConn lets gRPC set options of the socket.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	return c.tcp.SyscallConn()
}

type connKey struct{}
type callKey struct{}

// call is one RPC on a connection that is known.
type call struct {
	conn *conn
	tag  uint64
	// What the connection will have written when the next message begins, were it this call's alone.
	begins    atomic.Int64
	announced atomic.Bool
}

// TagConn finds a connection by its ends.
func (d *Deadlines) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	if info.RemoteAddr == nil || info.LocalAddr == nil {
		return ctx
	}
	found, ok := d.connections.Load([2]string{info.RemoteAddr.String(), info.LocalAddr.String()})
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, connKey{}, found)
}

// HandleConn has nothing to do.
func (d *Deadlines) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC begins a call.
func (d *Deadlines) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	on, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return ctx
	}
	begun := &call{conn: on, tag: d.tags.Add(1)}
	begun.begins.Store(on.written.Load())
	return context.WithValue(ctx, callKey{}, begun)
}

// HandleRPC announces responses, and cancels those that were broken off.
func (d *Deadlines) HandleRPC(ctx context.Context, event stats.RPCStats) {
	of, ok := ctx.Value(callKey{}).(*call)
	if !ok || event.IsClient() {
		return
	}
	switch event := event.(type) {
	case *stats.OutHeader:
		of.begins.Store(of.conn.written.Load())
	case *stats.OutPayload:
		d.announce(ctx, of, int64(event.WireLength))
	case *stats.End:
		if event.Error != nil && of.announced.Load() {
			_ = d.kernel.cancel(of.conn, of.tag)
		}
	}
}

// announce tells of a message that the transport has taken. It may be writing it already: what has gone since the
// message before ended is taken off, and what other calls wrote meanwhile with it.
func (d *Deadlines) announce(ctx context.Context, of *call, size int64) {
	written, begins := of.conn.written.Load(), of.begins.Load()
	size -= max(written-begins, 0)
	of.begins.Store(max(written, begins) + max(size, 0))
	deadline, ok := ctx.Deadline()
	left := time.Until(deadline)
	if !ok || left <= 0 || size <= 0 {
		return
	}
	if of.conn.announced.Swap(true) {
		_ = d.kernel.settle(of.conn)
	}
	told := d2tcp.Message{Size: size, Within: d2tcp.TimeToSend(left), Tag: of.tag}
	if d.kernel.announce(of.conn, told) == nil {
		of.announced.Store(true)
	}
}
