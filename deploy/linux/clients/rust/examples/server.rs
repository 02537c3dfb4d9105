//! Answers each line "BYTES MILLISECONDS" with so many bytes, after an announcement of their deadline.
//!
//! server PORT (0: any)

use std::io::{BufRead, BufReader, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

fn main() -> Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // Before the socket listens, for ECN.
    if let Err(error) = d2tcp::use_on(&listener) {
        eprintln!("not under D2TCP: {error}");
    }
    listener.set_reuse_address(true)?;
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    listener.listen(16)?;
    let listener = TcpListener::from(listener);
    println!("listening {}", listener.local_addr()?.port());
    for connection in listener.incoming() {
        if let Err(error) = serve(connection?) {
            eprintln!("a connection ended: {error}");
        }
    }
    Ok(())
}

fn serve(mut connection: TcpStream) -> Result<()> {
    for query in BufReader::new(connection.try_clone()?).lines() {
        let query = query?;
        let mut numbers = query.split_whitespace().filter_map(|number| number.parse().ok());
        let (Some(bytes), Some(milliseconds)) = (numbers.next(), numbers.next()) else { return Ok(()) };
        match d2tcp::send_deadline(&connection, bytes, Duration::from_millis(milliseconds)) {
            Ok(()) => println!("reply {bytes} deadline told"),
            Err(error) => println!("reply {bytes} deadline not told: {error}"),
        }
        connection.write_all(&vec![0; bytes as usize])?;
        if let Ok(state) = d2tcp::state(&connection) {
            println!(
                "state messages={} alpha={:.3} d={:.3} cwnd={:.0}",
                state.messages, state.alpha, state.d, state.cwnd
            );
        }
    }
    Ok(())
}
