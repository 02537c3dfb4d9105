//! The length of an HTTP/1.1 answer, from the beginning of its header.

/// Returns the length of an answer with its header; none if the header does not tell it.
///
/// Where the header does not end in `head`, its missing bytes are not counted.
pub fn length(head: &[u8]) -> Option<u64> {
    if !head.starts_with(b"HTTP/1.") {
        return None;
    }
    let end = head.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let header = &head[..end.unwrap_or(head.len())];
    let mut lines = header.split(|byte| *byte == b'\n');
    let status = lines.next()?.split(|byte| *byte == b' ').nth(1)?;
    // These have no body, whatever their header says (RFC 9110, 8.6).
    let without_body = status.starts_with(b"1") || status == b"204" || status == b"304";
    let mut length = without_body.then_some(0);
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return None;
        }
        // A line that is cut off may lack digits.
        let whole = line.ends_with(b"\r");
        if name.eq_ignore_ascii_case(b"content-length") && whole && length.is_none() {
            length = Some(number(value)?);
        }
    }
    Some(header.len() as u64 + length?)
}

fn number(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten().filter(|length| *length <= 1 << 40)
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn lengths_are_those_of_header_and_body() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Type: a\r\ncontent-length:  300000 \r\n\r\nbody";
        assert_eq!(length(answer), Some(answer.len() as u64 - 4 + 300_000));
        assert_eq!(length(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), Some(48));
    }

    #[test]
    fn without_a_plain_length_there_is_none() {
        for head in [
            &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 30",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\n",
            b"",
        ] {
            assert_eq!(length(head), None, "{}", String::from_utf8_lossy(head));
        }
    }
}
