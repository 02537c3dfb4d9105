//go:build linux

// A gRPC service that answers with as many bytes as the request asks for. It prints "listening PORT".
//
// server ADDRESS [plain]
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"

	"example.org/duetime/deploy/linux/clients/go/d2tcpgrpc"
	"google.golang.org/grpc"
)

// raw is a codec that passes bytes unchanged.
type raw struct{}

func (raw) Name() string                      { return "raw" }
func (raw) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }
func (raw) Unmarshal(data []byte, to any) error {
	*to.(*[]byte) = append([]byte{}, data...)
	return nil
}

func get(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var request []byte
	if err := decode(&request); err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(string(request))
	if err != nil {
		return nil, err
	}
	reply := make([]byte, size)
	return &reply, nil
}

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	options := []grpc.ServerOption{grpc.ForceServerCodec(raw{})}
	if len(os.Args) < 3 {
		deadlines := d2tcpgrpc.New()
		options = append(options, grpc.StatsHandler(deadlines))
		listener = deadlines.Listener(listener)
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "trial.Bytes",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Get", Handler: get}},
	}, nil)
	fmt.Println("listening", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
