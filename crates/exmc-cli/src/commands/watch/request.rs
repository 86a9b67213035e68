//! Bytes of a connection -> a request that may be answered, or why it may not.
//!
//! Everything that is not known to be needed is refused.

/// Bytes of a request at most, and headers.
pub(crate) const MOST_BYTES: usize = 8 << 10;
const MOST_HEADERS: usize = 64;

/// What a refusal says: the status of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no request.
    Bad,
    /// Its host or origin is another one.
    Forbidden,
    NotFound,
    /// It is not GET.
    Method,
    TooLarge,
    Version,
    /// It did not come in time.
    Slow,
    /// There are too many connections.
    Busy,
}

impl Refusal {
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Bad => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::Method => "405 Method Not Allowed",
            Self::Slow => "408 Request Timeout",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::Busy => "503 Service Unavailable",
            Self::Version => "505 HTTP Version Not Supported",
        }
    }
}

/// Whether the bytes hold all of a request's head.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|four| four == b"\r\n\r\n")
}

/// The path of a request for one of the hosts, without the token before it.
pub(crate) fn accept(bytes: &[u8], hosts: &[String], token: &str) -> Result<String, Refusal> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or(Refusal::Bad)?;
    if bytes.len() > end + 4 {
        // A body, or a second request behind the first.
        return Err(Refusal::Bad);
    }
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| Refusal::Bad)?;
    if !head.bytes().all(|b| matches!(b, b'\r' | b'\n' | b'\t' | b' '..=b'~')) {
        return Err(Refusal::Bad);
    }
    let mut lines = head.split("\r\n");
    let target = request_line(lines.next().unwrap_or_default())?;
    let headers: Vec<(String, &str)> = lines.map(header).collect::<Result<_, _>>()?;
    if headers.len() > MOST_HEADERS {
        return Err(Refusal::TooLarge);
    }
    let one = |name: &str| -> Result<Option<&str>, Refusal> {
        let mut all = headers.iter().filter(|(candidate, _)| candidate == name);
        match (all.next(), all.next()) {
            (first, None) => Ok(first.map(|(_, value)| *value)),
            _ => Err(Refusal::Bad),
        }
    };
    let is_ours = |host: &str| hosts.iter().any(|accepted| accepted == host);
    if !is_ours(one("host")?.ok_or(Refusal::Bad)?) {
        return Err(Refusal::Forbidden);
    }
    if one("transfer-encoding")?.is_some() || one("content-length")?.is_some_and(|n| n != "0") {
        return Err(Refusal::Bad);
    }
    if let Some(origin) = one("origin")?
        && !origin.strip_prefix("http://").is_some_and(is_ours)
    {
        return Err(Refusal::Forbidden);
    }
    if one("sec-fetch-site")?.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(Refusal::Forbidden);
    }
    if one("upgrade")?.is_some() {
        return Err(Refusal::Bad);
    }
    let rest = target.strip_prefix('/').ok_or(Refusal::Bad)?;
    let (found, path) = rest.split_once('/').ok_or(Refusal::NotFound)?;
    if !is_equal(found.as_bytes(), token.as_bytes()) {
        return Err(Refusal::NotFound);
    }
    Ok(path.to_owned())
}

fn request_line(line: &str) -> Result<&str, Refusal> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = parts[..] else { return Err(Refusal::Bad) };
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err(Refusal::Bad);
    }
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        let is_http = version.starts_with("HTTP/");
        return Err(if is_http { Refusal::Version } else { Refusal::Bad });
    }
    if method != "GET" {
        return Err(Refusal::Method);
    }
    Ok(target)
}

/// A header's name in small letters, and its value.
fn header(line: &str) -> Result<(String, &str), Refusal> {
    let (name, value) = line.split_once(':').ok_or(Refusal::Bad)?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if name.is_empty() || !name.bytes().all(is_name) || value.contains(['\r', '\n']) {
        return Err(Refusal::Bad);
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t'])))
}

/// Compares in a time that does not tell where they differ.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
