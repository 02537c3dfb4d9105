//! Asks for BYTES within MILLISECONDS, and counts the received bytes.
//!
//! client ADDRESS PORT BYTES MILLISECONDS

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, port, bytes, milliseconds] = &arguments[..] else {
        return Err("client ADDRESS PORT BYTES MILLISECONDS".into());
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // Both ends need it, or ECN is not negotiated.
    if let Err(error) = d2tcp::use_on(&socket) {
        eprintln!("not under D2TCP: {error}");
    }
    socket.connect(&SocketAddr::new(address.parse()?, port.parse()?).into())?;
    let mut connection = TcpStream::from(socket);
    writeln!(connection, "{bytes} {milliseconds}")?;
    let mut reply = vec![0; bytes.parse()?];
    connection.read_exact(&mut reply)?;
    println!("received {}", reply.len());
    Ok(())
}
