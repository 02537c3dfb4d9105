//go:build linux

package d2tcpgrpc

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	d2tcp "example.org/duetime/deploy/linux/clients/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

type raw struct{}

func (raw) Name() string                      { return "raw" }
func (raw) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }
func (raw) Unmarshal(data []byte, to any) error {
	*to.(*[]byte) = append([]byte{}, data...)
	return nil
}

type told struct {
	sync.Mutex
	announced []d2tcp.Message
	cancelled []uint64
	settled   int
}

// The sizes of a response, and of the client's window.
const size, window = 300_000, 65_535

// A service with a recording kernel, and the client's connection to it.
func serve(t *testing.T) (*told, *grpc.ClientConn) {
	seen := &told{}
	deadlines := New()
	deadlines.kernel = kernel{
		func(_ syscall.Conn, m d2tcp.Message) error {
			seen.Lock()
			defer seen.Unlock()
			seen.announced = append(seen.announced, m)
			return nil
		},
		func(_ syscall.Conn, tag uint64) error {
			seen.Lock()
			defer seen.Unlock()
			seen.cancelled = append(seen.cancelled, tag)
			return nil
		},
		func(syscall.Conn) error {
			seen.Lock()
			defer seen.Unlock()
			seen.settled++
			return nil
		},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.StatsHandler(deadlines), grpc.ForceServerCodec(raw{}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "trial.Bytes",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			reply := make([]byte, size)
			if err := stream.SendMsg(&reply); err != nil {
				return err
			}
			if string(request) == "fail" {
				return status.Error(codes.DataLoss, "broken off")
			}
			return stream.SendMsg(&reply)
		}}},
	}, nil)
	go func() { _ = server.Serve(deadlines.Listener(listener)) }()
	t.Cleanup(server.Stop)
	// With a window of a fifth of a response, no response is sent completely before the client reads it.
	// Bytes sent before the handler is called are not announced.
	client, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})), grpc.WithInitialWindowSize(window))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return seen, client
}

// Requests responses, and reads each once ready reports it.
func ask(t *testing.T, client *grpc.ClientConn, ctx context.Context, request string, ready func(nth int)) (got int) {
	stream, err := client.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/trial.Bytes/Stream")
	if err != nil {
		t.Fatal(err)
	}
	asked := []byte(request)
	if err := stream.SendMsg(&asked); err != nil {
		t.Fatal(err)
	}
	_ = stream.CloseSend()
	for nth := 1; ; nth++ {
		var part []byte
		ready(nth)
		if stream.RecvMsg(&part) != nil {
			return got
		}
		got += len(part)
	}
}

func atOnce(int) {}

// Waits until so many of the two responses are announced.
func (seen *told) untilAnnounced(nth int) {
	for patience := 0; patience < 500; patience++ {
		seen.Lock()
		done := len(seen.announced) >= min(nth, 2)
		seen.Unlock()
		if done {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestResponsesAreAnnouncedWithWhatIsLeft(t *testing.T) {
	seen, client := serve(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if got := ask(t, client, ctx, "go", seen.untilAnnounced); got != 2*size {
		t.Fatal(got)
	}
	seen.Lock()
	defer seen.Unlock()
	if len(seen.announced) != 2 || seen.settled != 1 || len(seen.cancelled) != 0 {
		t.Fatalf("%+v", seen)
	}
	first, second := seen.announced[0], seen.announced[1]
	// At most a message and its five bytes of header, or it would not end. At least the bytes beyond the
	// client's window, and the frames' own bytes.
	for _, each := range seen.announced {
		if each.Size > size+5 || each.Size < size-window-1000 {
			t.Errorf("%+v", seen.announced)
		}
	}
	if first.Within > 10*time.Second-d2tcp.Margin || first.Within < 5*time.Second || second.Within > first.Within {
		t.Errorf("%v, %v", first.Within, second.Within)
	}
	if first.Tag == 0 || second.Tag != first.Tag {
		t.Errorf("tags %d, %d", first.Tag, second.Tag)
	}
}

func TestACallWithoutDeadlineIsLeftAlone(t *testing.T) {
	seen, client := serve(t)
	if got := ask(t, client, context.Background(), "go", atOnce); got != 2*size {
		t.Fatal(got)
	}
	seen.Lock()
	defer seen.Unlock()
	if len(seen.announced) != 0 {
		t.Fatalf("%+v", seen)
	}
}

func TestAResponseThatIsBrokenOffIsCancelled(t *testing.T) {
	seen, client := serve(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ask(t, client, ctx, "fail", func(nth int) {
		if nth == 1 {
			seen.untilAnnounced(nth)
		}
	})
	for patience := 0; patience < 500; patience++ {
		seen.Lock()
		done := len(seen.cancelled) == 1 && seen.cancelled[0] == seen.announced[0].Tag
		seen.Unlock()
		if done {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%+v", seen)
}

func TestConnectionsAreForgottenWhenTheyClose(t *testing.T) {
	deadlines := New()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := deadlines.Listener(inner)
	defer listener.Close()
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		deadlines.connections.Range(func(any, any) bool { n++; return true })
		return
	}
	if count() != 1 {
		t.Fatal("an open connection is unknown")
	}
	accepted.Close()
	if count() != 0 {
		t.Fatal("a closed connection is kept")
	}
}
