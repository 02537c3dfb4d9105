//go:build linux

// Package d2tcpgrpc announces the deadlines of gRPC calls to D2TCP, without a change to the service.
//
//	deadlines := d2tcpgrpc.New()
//	server := grpc.NewServer(grpc.StatsHandler(deadlines))
//	server.Serve(deadlines.Listener(listener))
//
// When a response is given to the transport, its length and the caller's time left, less d2tcp.Margin, are announced to
// the kernel. Calls without a deadline are not announced. Where D2TCP is not attached, the announcements have no effect
// and cause no failure.
//
// The announced length is that of the message itself. Frames, headers, trailers and TLS are sent in addition, so that
// an announcement ends a little before its last byte, rather than never. Concurrent responses on one connection share
// it frame by frame; each announcement then ends a little early or late.
package d2tcpgrpc

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	d2tcp "example.org/duetime/deploy/linux/clients/go"
	"google.golang.org/grpc/stats"
)

// Deadlines is a server's stats handler. It knows the server's connections by the listener that it wraps.
type Deadlines struct {
	connections sync.Map // [2]string, remote and local address -> *conn
	tags        atomic.Uint64
	kernel      kernel
}

// kernel has the functions of package d2tcp that are called.
type kernel struct {
	announce func(syscall.Conn, d2tcp.Message) error
	cancel   func(syscall.Conn, uint64) error
	settle   func(syscall.Conn) error
}

// New returns a stats handler for a server.
func New() *Deadlines {
	return &Deadlines{kernel: kernel{d2tcp.Announce, d2tcp.Cancel, d2tcp.Settle}}
}

// Listener wraps the listener of the server. Connections other than TCP pass through.
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

// conn counts the bytes written to a connection.
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

// call is one RPC on a known connection.
type call struct {
	conn *conn
	tag  uint64
	// The position at which the next message begins if no other call writes to the connection.
	begins    atomic.Int64
	announced atomic.Bool
}

// TagConn finds a connection by its endpoints.
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

// HandleConn ignores events of connections.
func (d *Deadlines) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC begins the state of a call.
func (d *Deadlines) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	on, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return ctx
	}
	begun := &call{conn: on, tag: d.tags.Add(1)}
	begun.begins.Store(on.written.Load())
	return context.WithValue(ctx, callKey{}, begun)
}

// HandleRPC announces responses, and cancels broken-off ones.
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

// announce announces a message that the transport has taken, and may be writing already. It subtracts the
// bytes written since the end of the message before, including bytes of other calls.
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
