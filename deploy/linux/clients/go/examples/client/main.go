// Asks for BYTES within MILLISECONDS, and counts the received bytes.
//
// client ADDRESS PORT BYTES MILLISECONDS
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"

	d2tcp "example.org/duetime/deploy/linux/clients/go"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("client ADDRESS PORT BYTES MILLISECONDS")
	}
	size, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	dialer := net.Dialer{Control: d2tcp.Control} // both ends, or ECN is not negotiated
	conn, err := dialer.Dial("tcp4", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := fmt.Fprintln(conn, size, os.Args[4]); err != nil {
		log.Fatal(err)
	}
	received, err := io.CopyN(io.Discard, conn, size)
	if err != nil {
		log.Fatalf("the reply ended after %d of %d bytes: %v", received, size, err)
	}
	fmt.Println("received", received)
}
