//! States of a run -> a page on loopback that shows them: read-only, behind a random token.
//!
//! Each connection has a thread, answers one request and ends. There are few connections at once,
//! and each has little time to ask and to take in what it is sent, so that nobody can hold the
//! program up.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::request::{MOST_BYTES, Refusal, accept, is_whole};
use crate::failure::{Exit, Failure};

/// Connections at once.
const MOST_CONNECTIONS: usize = 32;
/// Time for a request to come.
const TO_ASK: Duration = Duration::from_secs(3);
/// Time for one write of an answer to go.
const TO_TAKE: Duration = Duration::from_secs(3);
/// An event stream without news says so after this time, which also finds out who went away.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// What every answer says: nothing is kept, nobody else's content is loaded, no other page may
/// read or frame this one.
const HEADERS: &str = "Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Connection: close\r\n";

/// A server that runs until the program ends.
pub(crate) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    hosts: Vec<String>,
    token: String,
    connections: AtomicUsize,
    /// The newest state, with its number.
    state: Mutex<(u64, Arc<str>)>,
    news: Condvar,
}

impl Server {
    /// Listens at a loopback address.
    pub(crate) fn start(address: SocketAddr) -> Result<Self, Failure> {
        let cannot = |e| Failure::new(Exit::Io, format!("cannot listen at {address}: {e}"));
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        let mut hosts = vec![bound.to_string()];
        if bound.port() == 80 {
            hosts.push(bound.ip().to_string());
        }
        let shared = Arc::new(Shared {
            hosts,
            token: token(),
            connections: AtomicUsize::new(0),
            state: Mutex::new((0, "{}".into())),
            news: Condvar::new(),
        });
        let listener_state = Arc::clone(&shared);
        let listen =
            move || listener.incoming().flatten().for_each(|stream| listener_state.take(stream));
        let thread = std::thread::Builder::new().name("exmc-server".to_owned());
        thread.spawn(listen).map_err(cannot)?;
        Ok(Self { shared })
    }

    /// Where the page is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}/", self.shared.hosts[0], self.shared.token)
    }

    /// Sends a state to everybody who looks.
    pub(crate) fn publish(&self, state: &Value) {
        let mut newest = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        *newest = (newest.0 + 1, state.to_string().into());
        self.shared.news.notify_all();
    }
}

/// 128 random bits, in hexadecimal digits.
fn token() -> String {
    let mut bytes = [0; 16];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if random.is_err() {
        // The standard library's hashes have random keys of the operating system's.
        for (k, part) in bytes.chunks_mut(8).enumerate() {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_usize(k);
            part.copy_from_slice(&hasher.finish().to_le_bytes());
        }
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Counts a connection as long as it lasts.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    fn take(self: &Arc<Self>, stream: TcpStream) {
        let is_local = stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
        if !is_local || stream.set_write_timeout(Some(TO_TAKE)).is_err() {
            return;
        }
        let before = self.connections.fetch_add(1, Ordering::AcqRel);
        let counted = Counted(Arc::clone(self));
        if before >= MOST_CONNECTIONS {
            // The answer fits into the socket's buffer, so nobody is waited for.
            let _ = refuse(&stream, Refusal::Busy);
            return;
        }
        let thread = std::thread::Builder::new().name("exmc-connection".to_owned());
        // Without a thread the connection is closed.
        let _ = thread.spawn(move || {
            // Whoever went away needs no answer.
            let _ = counted.0.answer(&stream);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }

    fn answer(&self, stream: &TcpStream) -> std::io::Result<()> {
        let asked = read_head(stream).and_then(|head| accept(&head, &self.hosts, &self.token));
        match asked.as_deref() {
            Ok("") => send(stream, "text/html; charset=utf-8", PAGE),
            Ok("page.js") => send(stream, "text/javascript; charset=utf-8", SCRIPT),
            Ok("page.css") => send(stream, "text/css; charset=utf-8", STYLE),
            Ok("state") => {
                let (_, state) = self.newest(0);
                send(stream, "application/json", &state)
            }
            Ok("events") => self.stream_events(stream),
            Ok(_) => refuse(stream, Refusal::NotFound),
            Err(refusal) => refuse(stream, *refusal),
        }
    }

    /// The newest state once it is not number `known` any more, or some time has passed.
    fn newest(&self, known: u64) -> (u64, Arc<str>) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.news.wait_timeout_while(state, KEEP_ALIVE, |(n, _)| *n == known);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn stream_events(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{HEADERS}\r\n")?;
        let mut known = 0;
        loop {
            let (number, state) = self.newest(known);
            if number == known {
                stream.write_all(b": still here\n\n")?;
            } else {
                write!(stream, "data: {state}\n\n")?;
            }
            known = number;
        }
    }
}

/// The head of a request, all of which has to come in time.
fn read_head(mut stream: &TcpStream) -> Result<Vec<u8>, Refusal> {
    let (began, mut head, mut part) = (Instant::now(), Vec::new(), [0; 1024]);
    while !is_whole(&head) {
        let left = TO_ASK.saturating_sub(began.elapsed());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Refusal::Slow);
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(Refusal::Bad),
            Ok(n) => head.extend_from_slice(&part[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Refusal::Slow),
        }
        if head.len() > MOST_BYTES {
            return Err(Refusal::TooLarge);
        }
    }
    Ok(head)
}

fn send(mut stream: &TcpStream, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{HEADERS}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn refuse(mut stream: &TcpStream, refusal: Refusal) -> std::io::Result<()> {
    let status = refusal.status();
    let allow = if refusal == Refusal::Method { "Allow: GET\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{allow}{HEADERS}\r\n{status}",
        status.len()
    );
    stream.write_all(head.as_bytes())
}
