// Answers each line "BYTES MILLISECONDS" with so many bytes, after an announcement of their deadline.
//
// server PORT (0: any)
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	d2tcp "example.org/duetime/deploy/linux/clients/go"
)

func main() {
	port := "0"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	config := net.ListenConfig{Control: d2tcp.Control} // before it listens, for ECN
	config.SetMultipathTCP(false)                      // MPTCP has no such congestion control
	listener, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening", listener.Addr().(*net.TCPAddr).Port)
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		serve(conn.(*net.TCPConn))
	}
}

func serve(conn *net.TCPConn) {
	defer conn.Close()
	for queries := bufio.NewScanner(conn); queries.Scan(); {
		var size, milliseconds int64
		if _, err := fmt.Sscan(queries.Text(), &size, &milliseconds); err != nil {
			return
		}
		if err := d2tcp.SendDeadline(conn, size, time.Duration(milliseconds)*time.Millisecond); err != nil {
			fmt.Println("reply", size, "deadline not told:", err)
		} else {
			fmt.Println("reply", size, "deadline told")
		}
		if _, err := conn.Write(make([]byte, size)); err != nil {
			return
		}
		if state, err := d2tcp.GetState(conn); err == nil {
			fmt.Printf("state messages=%d alpha=%.3f d=%.3f cwnd=%.0f\n", state.Messages, state.Alpha, state.D,
				state.Cwnd)
		}
	}
}
