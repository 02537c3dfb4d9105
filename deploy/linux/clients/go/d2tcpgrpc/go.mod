module example.org/duetime/deploy/linux/clients/go/d2tcpgrpc

go 1.23.0

require (
	example.org/duetime/deploy/linux/clients/go v0.2.0
	google.golang.org/grpc v1.75.1
)

require (
	golang.org/x/net v0.41.0 // indirect
	golang.org/x/sys v0.33.0 // indirect
	golang.org/x/text v0.26.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250707201910-8d1bb00bc6a7 // indirect
	google.golang.org/protobuf v1.36.6 // indirect
)

replace example.org/duetime/deploy/linux/clients/go => ../
